-- Ends a hold or a wait, and grants on.
--
-- Keys: see common/base.lua.
-- Arguments: 1 ticket  2 member  3 park_ms (0: it is not parked)  4 tomb ('1': leave a tombstone)
--            5 used (the token of the grant whose signal was used; 0: none was)
-- Replies: 'RELEASED <what can be had now>'  'CANCELLED'  'GONE'
--          error FOREIGN

local ticket, member, park, tomb, used = unpack(ARGV)
local now = clock()

-- The short way: it is the only one and holds.
local state = redis.call('GET', KEYS[1])
if state and park == '0' and tomb == '0' then
  local heard, held, tok, cap =
    string.match(state, '^1 s ' .. ticket .. ' (%d+) (%d+) %d+ %d+ (%d+) %d+ %d+ (%d+) ')
  if heard and now >= tonumber(heard) and now < heard + held * 1000 then
    if redis.pcall('SET', KEYS[1], '1 i ' .. tok, 'PX', '600000').err then
      -- A full memory denies a first write, but no second one.
      redis.call('PEXPIRE', KEYS[1], '600000')
      redis.call('SET', KEYS[1], '1 i ' .. tok, 'KEEPTTL')
    end
    return 'RELEASED ' .. cap
  end
end

return guard(function()
  local s = open(now, state)
  s.prune(true)
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
