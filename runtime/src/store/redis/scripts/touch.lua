-- A known ticket speaks: renews its lease or its place, claims a provisional grant, leaves `quiet`, gives units back.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 ticket  4 member  5 counter  6 units (a holder keeps no more than these; 0: all)  7 hold_ms
--            8 place_ms
-- Replies: 'GRANTED <token>'  {'GRANTED', token, text of the signal}
--          {'QUEUED', position, again_ms, token of the holder, meta of the holder}
--          'GONE'
--          error FOREIGN

local opens, ticket, member, counter, units, hold, place = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune(true)
  local known = s.hear(ticket, counter, hold, place)
  local r = known and units ~= '0' and s.record(ticket)
  if r and r.token > 0 and r.units > tonumber(units) then s.rare().lower(ticket, tonumber(units)) end
  s.grant(member, ticket)
  local reply = known and s.standing(ticket) or 'GONE'
  s.close()
  return reply
end)
