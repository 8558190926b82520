-- A token bucket (D9). KEYS[1]: hash of tokens and last. ARGV: capacity, tokens a second, cost.
-- Returns {1 or 0, tokens left, seconds until the cost is there}; the numbers with fractions as text.
-- Tokens keep their fraction and the clock its microseconds: rounding either starves or leaks (T26).
local capacity = tonumber(ARGV[1])
local rate = tonumber(ARGV[2])
local cost = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000

local kept = redis.call('HMGET', KEYS[1], 'tokens', 'last')
local tokens = tonumber(kept[1]) or capacity
local last = tonumber(kept[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - last) * rate)

local allowed = 0
local wait = 0
if tokens >= cost then
  tokens = tokens - cost
  allowed = 1
else
  wait = (cost - tokens) / rate
end

redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'last', string.format('%.6f', now))
-- Twice the time to fill up: a key that expires earlier would hand out a full bucket too soon (T25).
redis.call('PEXPIRE', KEYS[1], math.ceil(2000 * capacity / rate))
return {allowed, string.format('%.6f', tokens), string.format('%.6f', wait)}
