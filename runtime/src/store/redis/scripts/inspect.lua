-- Says what is there; changes nothing.
--
-- Keys: see common/base.lua.
-- Arguments: none
-- Replies: {'INFO', token, capacity (empty: none), used units, signals, exists (0 or 1), holders, waiters}, each holder
--          or waiter a list {ticket, member, units, token, meta, microseconds left, parked (0 or 1)}
--          error FOREIGN

local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, 0, state)
  local used, signals, holders, waiters = s.rare().list()
  local exists = (s.known == 1 or signals > 0) and 1 or 0
  return {'INFO', int(s.tok), s.holders + s.waiting > 0 and s.cap or '', used, signals, exists, holders, waiters}
end)
