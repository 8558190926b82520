-- Take leases of keys that are not there. KEYS: keys. ARGV: lease, ms to live.
-- Returns the numbers of the keys, from 1 on, of which it was had.
local had = {}
for number, key in ipairs(KEYS) do
  if redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2]) then
    had[#had + 1] = number
  end
end
return had
