-- Adds signals, and grants them.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 ticket (an identity: a token is added once for it)  4 member
--            5 kind: 'token' (one with a text), 'one' (one if more wait than there are signals), 'all' (one for each of
--            these)  6 text of a token; that of the others is the ticket
-- Replies: 'SIGNALLED <how many>'  'REFUSED'
--          error FOREIGN

local opens, ticket, member, kind, text = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune()
  local reply = 'REFUSED'
  -- Asked in any case: a foreign key shows before anything is written.
  if not s.rare().is_buried(ticket) then
    local count = kind == 'token' and 1 or math.max(0, s.waiting - s.signals)
    if kind == 'one' then count = math.min(1, count) end
    if count > 0 then s.signal().add(count, text or ticket) end
    if kind == 'token' then
      s.known = 1
      s.rare().bury(ticket)
    end
    reply = 'SIGNALLED ' .. int(count)
  end
  s.grant(member)
  s.close()
  return reply
end)
