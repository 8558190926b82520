-- Put the likes of a person in place if the key still holds the caller's lease (T45). KEYS: likes.
-- ARGV: lease, ms to live, fields and values. Returns 1 when they are in place.
-- Another reader's likes may be there: GET of a hash is an error, which is no lease either.
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
