-- A fresh ticket takes the place of one that holds, with a new token; the old one is gone.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 old ticket  4 ticket  5 member  6 counter  7 hold_ms  8 place_ms  9 meta
-- Replies: 'GRANTED <token>'  {'GRANTED', token, text of the signal}
--          {'QUEUED', position, again_ms, token of the holder, meta of the holder} for a fresh ticket that waits
--          {'BUSY', '', ''}: nothing is granted yet
--          'GONE': the old one does not hold
--          'REFUSED'
--          error FOREIGN

local opens, old, ticket, member, counter, hold, place, meta = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune(true)
  local known, waits
  if s.tombs > 0 and s.rare().is_buried(ticket) then
    s.grant(member, ticket)
    s.close()
    return 'REFUSED'
  elseif s.hear(ticket, counter, hold, place) then
    known = true
  elseif not s.record(ticket) then
    known, waits = s.rare().swap(old, ticket, {
      hold = tonumber(hold), wait = tonumber(place), counter = tonumber(counter), member = member, meta = meta,
    })
  end
  s.grant(member, ticket)
  local reply = known and s.standing(ticket) or waits and {'BUSY', '', ''} or 'GONE'
  s.close()
  return reply
end)
