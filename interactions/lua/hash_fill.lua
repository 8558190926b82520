-- Put a HASH in place if the key still holds the lease of who fills it in (T45). KEYS: the hash.
-- ARGV: lease, ms to live, fields and values. Returns 1 when they are in place.
-- Another reader may have filled it in: GET of a hash is an error, which is no lease either.
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
