-- Add one fence (1) or remove one (-1). KEYS: fence. ARGV: step, TTL in ms.
if ARGV[1] == "1" then
  redis.call("INCR", KEYS[1])
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
elseif tonumber(redis.call("GET", KEYS[1]) or "0") > 1 then
  redis.call("DECR", KEYS[1])
else
  redis.call("DEL", KEYS[1])
end
return 1
