-- Store values under keys whose lease is still the caller's (T45). KEYS: keys of the values.
-- ARGV: lease, ms to live, one value for each key. Returns the number of stored values.
local filled = 0
for number, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    redis.call('SET', key, ARGV[number + 2], 'PX', ARGV[2])
    filled = filled + 1
  end
end
return filled
