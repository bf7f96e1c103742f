-- Tells the holders of an owner that their `expire` counts again.
--
-- Keys: see common/base.lua.
-- Arguments: 1 opens  2 member  3 owner  4 expire_ms
-- Replies: 'TOLD <how many heard it>'
--          error FOREIGN

local opens, member, owner, expire = unpack(ARGV)
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
