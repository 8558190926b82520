-- Raise cached floors; never lower them. A fill does nothing while a fence exists.
-- KEYS: fence, then floors. ARGV: TTL in ms, "fill" or "revoke", then a value for each floor.
if ARGV[2] == "fill" and redis.call("EXISTS", KEYS[1]) == 1 then
  return 0
end
for i = 2, #KEYS do
  local value = ARGV[i + 1]
  local held = redis.call("GET", KEYS[i])
  if not held or tonumber(value) >= tonumber(held) then
    redis.call("SET", KEYS[i], value, "PX", ARGV[1])
  end
end
return 1
