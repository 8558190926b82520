-- Put a timeline in place while the lease is still the caller's (T45). KEYS: timeline.
-- ARGV: lease, ms to live, generation, mark, then score, member, ... Returns 1, or 0 without the lease.
local held = redis.pcall('GET', KEYS[1])
if held ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('ZADD', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
