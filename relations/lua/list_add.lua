-- Add one person to a list that is there (T43). KEYS: list. ARGV: score, member, cap, "no more" mark.
-- Returns 1, or 0 when there is no list, also because this person cannot be put into it.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local complete = redis.call('ZSCORE', KEYS[1], ARGV[4])
if not complete then
  -- Below the floor a list knows nothing: with this one it would look as if it did (T44).
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
  -- What is cut off is not known any more, so the end of the list is not either (T46).
  redis.call('ZREM', KEYS[1], ARGV[4])
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1)
end
return 1
