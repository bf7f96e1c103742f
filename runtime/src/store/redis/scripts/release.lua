-- Ends a hold or a wait, and grants on.
--
-- Keys: see common.lua.
-- Arguments: 1 ticket  2 member  3 park_ms (0: it is not parked)  4 tomb ('1': leave a tombstone)
-- Replies: 'RELEASED'  'CANCELLED'  'GONE'
--          error FOREIGN

local ticket, member, park, tomb = unpack(ARGV)
local now = clock()

-- The short way: it is the only one and holds.
local state = redis.call('GET', KEYS[1])
if state and park == '0' and tomb == '0' then
  local heard, held, tok = string.match(state, '^1 s ' .. ticket .. ' (%d+) (%d+) %d+ %d+ (%d+) ')
  if heard and now >= tonumber(heard) and now < heard + held * 1000 then
    if redis.pcall('SET', KEYS[1], '1 i ' .. tok, 'PX', '600000').err then
      -- A full memory denies a first write, but no second one.
      redis.call('PEXPIRE', KEYS[1], '600000')
      redis.call('SET', KEYS[1], '1 i ' .. tok, 'KEEPTTL')
    end
    return 'RELEASED 0'
  end
end

return guard(function()
  local s = open(now, state)
  s.prune(true)
  local reply = 'GONE'
  local r = s.record(ticket)
  if r and r.token == 0 then
    s.drop_waiter(ticket)
    reply = 'CANCELLED'
  elseif r then
    if r.flag ~= 2 then
      if tonumber(park) > 0 then s.rare().park(ticket, park) else s.drop_holder(ticket) end
    end
    reply = 'RELEASED 0'
  end
  if tomb == '1' then s.rare().bury(ticket) end
  s.grant(member)
  s.close()
  return reply
end)
