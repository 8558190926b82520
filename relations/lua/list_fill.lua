-- Put a whole list in place while the lease is still the caller's (T45). KEYS: list, lease.
-- ARGV: token, ms to live, score, member, ...; returns 1, or 0 when the lease was taken away.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
if #ARGV > 2 then
  redis.call('ZADD', KEYS[1], unpack(ARGV, 3))
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
