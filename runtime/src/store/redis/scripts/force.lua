-- Drops every holder, or those of an owner, tells them, and grants on.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 member  4 owner (empty: all)
-- Replies: 'FREED <how many>'
--          error FOREIGN

local opens, member, owner = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune(true)
  local dropped = s.rare().drop_all(owner)
  s.grant(member)
  s.close()
  return 'FREED ' .. dropped
end)
