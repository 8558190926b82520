-- Take one entry out of those timelines that have it. KEYS: timelines. ARGV: member. Returns how many.
local removed = 0
for _, key in ipairs(KEYS) do
  local answer = redis.pcall('ZREM', key, ARGV[1])
  if type(answer) == 'table' then
    redis.call('DEL', key) -- a lease: what is being filled in may have this entry
  else
    removed = removed + answer
    local mark = redis.call('ZRANGE', key, -1, -1)[1]
    if mark == 'm' and redis.call('ZCARD', key) == 2 then
      redis.call('DEL', key) -- it knows nothing any more
    elseif mark and mark ~= 'e' and mark ~= 'm' then
      redis.call('DEL', key) -- of another version, whose entries have another form
    end
  end
end
return removed
