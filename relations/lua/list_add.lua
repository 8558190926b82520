-- Add one person to an existing list (T43). KEYS: list. ARGV: score, member, cap, NO_MORE mark.
-- Returns 1, or 0 when there is no list or when the list had to be deleted.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local complete = redis.call('ZSCORE', KEYS[1], ARGV[4])
if not complete then
  -- Members below the floor are unknown: adding this one would make the gap look complete (T44).
  local floor = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  local score, lowest = tonumber(ARGV[1]), tonumber(floor[2])
  if score < lowest or (score == lowest and ARGV[2] < floor[1]) then
    redis.call('DEL', KEYS[1])
    return 0
  end
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
if complete then
  over = over - 1
end
if over > 0 then
  -- The members cut off are unknown now, so the end of the list is unknown too (T46).
  redis.call('ZREM', KEYS[1], ARGV[4])
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1)
end
return 1
