-- A holder's fencing token becomes this one: what all servers shall have for the same grant. If that was given to somebody
-- else, or a greater one, it becomes the next.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 ticket  4 member  5 token
-- Replies: 'GRANTED <token>'  {'GRANTED', token, text of the signal}
--          'GONE': it does not hold
--          error FOREIGN

local opens, ticket, member, token = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune(true)
  local r = s.record(ticket)
  local holds = r and r.token > 0 and r.flag ~= 2
  if holds then s.rare().raise(ticket, tonumber(token)) end
  s.grant(member)
  local reply = holds and s.standing(ticket) or 'GONE'
  s.close()
  return reply
end)
