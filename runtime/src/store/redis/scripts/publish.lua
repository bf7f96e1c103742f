-- Tells a member; returns how many hear it.
local function publish(member, text)
  return redis.call('PUBLISH', 'auto_mutex:member:' .. member, text)
end

