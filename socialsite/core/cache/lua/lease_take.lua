-- Take leases on keys that do not exist. KEYS: keys. ARGV: lease, ms to live.
-- Returns the indexes (from 1) of the keys whose lease was taken.
local had = {}
for number, key in ipairs(KEYS) do
  if redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2]) then
    had[#had + 1] = number
  end
end
return had
