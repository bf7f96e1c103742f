-- Says what is there; changes nothing.
--
-- Keys: see common.lua.
-- Arguments: none
-- Replies: {'INFO', token, capacity, holders, waiters}, each holder or waiter a list
--          {ticket, member, units, token, meta, microseconds left, parked (0 or 1)}
--          error FOREIGN

local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, state)
  local holders, waiters = s.rare().list()
  return {'INFO', int(s.tok), s.cap == 0 and '' or s.cap, s.used, 0, '1', holders, waiters}
end)
