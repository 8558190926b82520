-- The next entries of a timeline below a place. KEYS: timeline. ARGV: how many; score and member of
-- the place. Returns {} when it is not there, else {mark, generation, member, score, ...} from the top, down
-- to the mark at the bottom when it is reached.
local run = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local left = tonumber(ARGV[1])
if not run[1] then
  return run
end
-- Those of the same ms come first, by id; then everything strictly older (T32, T34).
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[2], ARGV[2])) do
  if left > 0 and member > ARGV[3] then
    run[#run + 1] = member
    run[#run + 1] = ARGV[2]
    left = left - 1
  end
end
if left > 0 then
  local older = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, left)
  for _, value in ipairs(older) do
    run[#run + 1] = value
  end
end
return run
