-- Drops every holder, tells them, and grants on.
--
-- Keys: see common.lua.
-- Arguments: 1 member
-- Replies: 'FREED <how many>'
--          error FOREIGN

local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, state)
  s.prune(true)
  local dropped = s.rare().drop_all()
  s.grant(ARGV[1])
  s.close()
  return 'FREED ' .. dropped
end)
