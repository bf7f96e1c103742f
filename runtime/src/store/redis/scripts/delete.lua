-- Forgets a name and its signals, unless it is in use.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 member
-- Replies: 'DELETED <1, or 0 if there was nothing>'  'IN_USE <holders> <waiters>'
--          error FOREIGN

local opens, member = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune(true)
  s.grant(member)
  local reply
  if s.holders + s.waiting > 0 then
    reply = 'IN_USE ' .. int(s.holders) .. ' ' .. int(s.waiting)
  else
    reply = s.signal().delete() and 'DELETED 1' or 'DELETED 0'
  end
  s.close()
  return reply
end)
