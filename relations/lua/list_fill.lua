-- Store a whole list while the caller owns the lease (T45). KEYS: list, lease.
-- ARGV: token, TTL in ms, score, member, ...; returns 1, or 0 when the lease was deleted.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
if #ARGV > 2 then
  redis.call('ZADD', KEYS[1], unpack(ARGV, 3))
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
