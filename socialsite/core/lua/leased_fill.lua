-- Put values in place where the lease is still the caller's (T45). KEYS: values.
-- ARGV: lease, ms to live, one value for each key. Returns how many were put in place.
local filled = 0
for number, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    redis.call('SET', key, ARGV[number + 2], 'PX', ARGV[2])
    filled = filled + 1
  end
end
return filled
