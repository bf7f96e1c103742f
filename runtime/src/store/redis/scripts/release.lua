-- Ends a hold or a wait, and grants on.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 ticket  4 member  5 park_ms (0: it is not parked)  6 tomb ('1': leave a tombstone)
--            7 used (the token of the grant whose signal was used; 0: none was)
-- Replies: 'RELEASED <what can be had now>'  'CANCELLED'  'GONE'
--          error FOREIGN

local opens, ticket, member, park, tomb, used = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune(true, ticket)
  local reply = 'GONE'
  local capacity = s.cap
  local r = s.record(ticket)
  if r and r.token == 0 then
    s.drop_waiter(ticket)
    reply = 'CANCELLED'
  elseif r then
    reply = 'RELEASED'
    if r.flag ~= 2 then
      if tonumber(park) > 0 and r.number == 0 then
        s.rare().park(ticket, park)
      else
        s.drop_holder(ticket, r.token ~= tonumber(used))
      end
    end
  end
  if tomb == '1' then s.rare().bury(ticket) end
  s.grant(member)
  if reply == 'RELEASED' then reply = 'RELEASED ' .. int(math.max(0, capacity - s.used) + s.signals) end
  s.close()
  return reply
end)
