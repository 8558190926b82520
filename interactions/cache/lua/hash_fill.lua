-- Store a HASH if its key still has the caller's lease (T45). KEYS: the hash.
-- ARGV: lease, ms to live, fields and values. Returns 1 if the hash was stored.
-- Another reader may have stored the hash: GET of a hash is an error, so it never equals the lease.
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
