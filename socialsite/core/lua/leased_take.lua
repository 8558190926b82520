-- Take leases of values that are not there. KEYS: values. ARGV: lease, ms to live.
for _, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2])
end
return 1
