-- Tells a member; returns how many hear it.
local function publish(member, text)
  -- Who waits for this name again and again listens to a channel of its slot, and no other node has to pass that on.
  if redis.REDIS_VERSION_NUM then
    local heard = redis.pcall('SPUBLISH', KEYS[1] .. ':member:' .. member, text)
    if type(heard) == 'number' and heard > 0 then return heard end
  end
  return redis.call('PUBLISH', 'auto_mutex:member:' .. member, text)
end

