-- Take one entry out of those timelines that have it. KEYS: timelines. ARGV: member. Returns how many.
local removed = 0
for _, key in ipairs(KEYS) do
  local answer = redis.pcall('ZREM', key, ARGV[1])
  if type(answer) == 'table' then
    redis.call('DEL', key) -- a lease: what is being filled in may have this entry
  elseif answer == 1 then
    removed = removed + 1
    if redis.call('ZCARD', key) == 2 and redis.call('ZRANGE', key, -1, -1)[1] == 'm' then
      redis.call('DEL', key) -- it knows nothing any more
    end
  end
end
return removed
