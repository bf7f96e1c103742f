-- A known ticket speaks: renews its lease or its place, claims a provisional grant, leaves `quiet`.
--
-- Keys: see common.lua.
-- Arguments: 1 ticket  2 member  3 counter  4 hold_ms  5 place_ms
-- Replies: 'GRANTED <token>'
--          {'QUEUED', position, again_ms, token of the holder, meta of the holder}
--          'GONE'
--          error FOREIGN

local ticket, member, counter, units, hold, place = unpack(ARGV)
local now = clock()

-- The short way: it is the only one and holds.
local state = redis.call('GET', KEYS[1])
if state and tonumber(hold) <= 600000 then
  local heard, held, last, tail, token =
    string.match(state, '^1 s ' .. ticket .. ' (%d+) (%d+) %d+ (%d+) (%d+ (%d+) .*)$')
  if heard and now >= tonumber(heard) and now < heard + held * 1000 then
    if tonumber(last) > tonumber(counter) then counter = last end
    local text = '1 s ' .. ticket .. ' ' .. int(now) .. ' ' .. hold .. ' ' .. place .. ' '
      .. counter .. ' ' .. tail
    if redis.pcall('SET', KEYS[1], text, 'PX', '1200000').err then
      -- A full memory denies a first write, but no second one.
      redis.call('PEXPIRE', KEYS[1], '1200000')
      redis.call('SET', KEYS[1], text, 'KEEPTTL')
    end
    return 'GRANTED ' .. token
  end
end

return guard(function()
  local s = open(now, state)
  s.prune(true)
  local known = s.hear(ticket, counter, hold, place)
  s.grant(member, ticket)
  local reply = known and s.standing(ticket) or 'GONE'
  s.close()
  return reply
end)
