-- Tells the holders of an owner that their `expire` counts again.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 member  4 owner  5 expire_ms
-- Replies: 'TOLD <how many heard it>'
--          error FOREIGN

local opens, member, owner, expire = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune(true)
  local told = s.rare().refresh(owner, expire)
  s.grant(member)
  s.close()
  return 'TOLD ' .. told
end)
