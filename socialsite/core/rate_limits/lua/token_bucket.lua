-- Token buckets (D9): take tokens from all KEYS, or from none. Each key is a hash of tokens and last.
-- ARGV, three for each key: capacity, tokens a second, cost; a negative cost gives tokens back.
-- Returns {1 if granted, otherwise 0; index of the tightest key; its tokens left; seconds until it
-- has the cost}. The tightest key has the longest wait, or if granted the smallest share left.
-- Numbers with fractions are returned as strings.
-- Tokens keep their fraction and the clock its microseconds: rounding would starve or leak (T26).
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local found = {}
local allowed = 1
local telling = 1
local wait = 0

for n, key in ipairs(KEYS) do
  local capacity = tonumber(ARGV[3 * n - 2])
  local rate = tonumber(ARGV[3 * n - 1])
  local cost = tonumber(ARGV[3 * n])
  local stored = redis.call('HMGET', key, 'tokens', 'last')
  local tokens = tonumber(stored[1]) or capacity
  local last = tonumber(stored[2]) or now
  tokens = math.min(capacity, tokens + math.max(0, now - last) * rate)
  found[n] = {tokens, capacity, rate, cost}
  if tokens < cost then
    allowed = 0
    if (cost - tokens) / rate > wait then
      wait = (cost - tokens) / rate
      telling = n
    end
  end
end

local least = 2
for n, key in ipairs(KEYS) do
  local tokens, capacity, rate, cost = unpack(found[n])
  if allowed == 1 then
    tokens = math.min(capacity, tokens - cost)
    found[n][1] = tokens
    if tokens / capacity < least then
      least = tokens / capacity
      telling = n
    end
  end
  redis.call('HSET', key, 'tokens', string.format('%.6f', tokens), 'last', string.format('%.6f', now))
  -- Twice the refill time: a key that expires earlier would yield a full bucket too soon (T25).
  redis.call('PEXPIRE', key, math.ceil(2000 * capacity / rate))
end
return {allowed, telling, string.format('%.6f', found[telling][1]), string.format('%.6f', wait)}
