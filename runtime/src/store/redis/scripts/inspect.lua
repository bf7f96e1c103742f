-- Says what is there; changes nothing.
--
-- Keys: see common.lua.
-- Arguments: none
-- Replies: {'INFO', token, capacity, holders, waiters}, each holder or waiter a list
--          {ticket, member, units, token, meta, microseconds left, parked (0 or 1)}
--          error FOREIGN

local now = clock()

return guard(function()
  local s = open(now)
  local holders, waiters = s.list()
  return {'INFO', string.format('%.0f', s.tok), s.cap, holders, waiters}
end)
