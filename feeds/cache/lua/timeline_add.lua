-- Add one entry to those timelines that are there (T43). KEYS: timelines. ARGV: score, member, hard cap
-- with its slack, hard cap, size from which old entries go, score of what is old. Returns how many.
-- Marks: 'e' the end of the list, 'm' more below the floor, 't' the top; see timeline.py.
local score, member = tonumber(ARGV[1]), ARGV[2]
local most, cap, size = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local added = 0
for _, key in ipairs(KEYS) do
  local last = redis.pcall('ZRANGE', key, -2, -1, 'WITHSCORES')
  if last.err then
    redis.call('DEL', key) -- a lease: what is being filled in may lack this entry
  elseif last[1] and last[3] ~= 'e' and last[3] ~= 'm' then
    redis.call('DEL', key) -- of another version, whose entries have another form
  elseif last[1] then
    local partial, fits = last[3] == 'm', true
    if partial then
      local floor = tonumber(last[2])
      if last[1] == 't' then
        redis.call('DEL', key) -- it knows nothing, with this entry it would look as if it did
        fits = false
      else
        -- Below the floor it says nothing, and goes on saying nothing (T44).
        fits = score < floor or (score == floor and member < last[1])
      end
    end
    if fits then
      redis.call('ZADD', key, ARGV[1], member)
      added = added + 1
      local count = redis.call('ZCARD', key) - 2
      if count > size and (count % 16 == 0 or count > most) then
        -- Old ones beyond the size (A30), and whatever is beyond the hard cap (T47).
        local over = redis.call('ZCOUNT', key, ARGV[6], '(' .. last[4])
        over = math.max(math.min(over, count - size), count > most and count - cap or 0)
        if over > 0 then
          redis.call('ZREMRANGEBYRANK', key, -1 - over, -2)
          if not partial then -- its end is not known any more (T46)
            redis.call('ZREM', key, 'e')
            redis.call('ZADD', key, last[4], 'm')
          end
        end
      end
    end
  end
end
return added
