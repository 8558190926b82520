-- Read a page of a cached list. KEYS: list, lease. ARGV: page size; score and member to continue
-- after, or two empty strings; token and ms of a lease to take when there is no list, or two empty
-- strings.
-- Returns {"hit", member, score, ...}, {"lease"} when the caller owns the lease now, or {"miss"}.
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[4] ~= '' and redis.call('SET', KEYS[2], ARGV[4], 'NX', 'PX', ARGV[5]) then
    return {'lease'}
  end
  return {'miss'}
end

local want = tonumber(ARGV[1])
local page = {'hit'}
local from = '+inf'
if ARGV[2] ~= '' then
  -- First the members of the same moment, by id; then everything strictly older (T32, T34).
  for _, member in ipairs(redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[2], ARGV[2])) do
    if want > 0 and member < ARGV[3] then
      page[#page + 1] = member
      page[#page + 1] = ARGV[2]
      want = want - 1
    end
  end
  from = '(' .. ARGV[2]
end
if want > 0 then
  local older = redis.call('ZREVRANGEBYSCORE', KEYS[1], from, '-inf', 'WITHSCORES', 'LIMIT', 0, want)
  for _, value in ipairs(older) do
    page[#page + 1] = value
  end
end
return page
