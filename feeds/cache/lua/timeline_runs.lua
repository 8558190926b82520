-- The next entries of several timelines. KEYS: timelines. ARGV: how many; score and member of the place
-- to go on from, or two empty texts.
-- Returns for each timeline {} when it is not there, else {mark, generation, member, score, ...}.
local want = tonumber(ARGV[1])
local runs = {}
for number, key in ipairs(KEYS) do
  local run = {}
  local mark = redis.pcall('ZRANGE', key, 0, 0, 'WITHSCORES')
  if not mark.err and mark[1] then
    run = {mark[1], mark[2]}
    local left, from = want, '+inf'
    if ARGV[2] ~= '' then
      -- Those of the same ms come first, by id; then everything strictly older (T32, T34).
      for _, member in ipairs(redis.call('ZREVRANGEBYSCORE', key, ARGV[2], ARGV[2])) do
        if left > 0 and member < ARGV[3] then
          run[#run + 1] = member
          run[#run + 1] = ARGV[2]
          left = left - 1
        end
      end
      from = '(' .. ARGV[2]
    end
    if left > 0 then
      local older = redis.call('ZREVRANGEBYSCORE', key, from, '(' .. mark[2], 'WITHSCORES', 'LIMIT', 0, left)
      for _, value in ipairs(older) do
        run[#run + 1] = value
      end
    end
  end
  runs[number] = run
end
return runs
