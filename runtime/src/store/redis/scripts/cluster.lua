-- On a node of a cluster.

-- Tells a member; returns how many hear it.
local function publish(member, text)
  -- Who waits for this name again and again listens to a channel of its slot, and no other node has to pass that on.
  if redis.REDIS_VERSION_NUM then
    local heard = redis.pcall('SPUBLISH', KEY .. SHARD_CHANNEL .. member, text)
    if type(heard) == 'number' and heard > 0 then return heard end
  end
  return call('PUBLISH', CHANNEL .. member, text)
end

-- Whether all keys of the name can be reached. While the slot is moved to another node, the server refuses what names a key that
-- is not here: the last of these is nowhere, so it refuses this until the slot has arrived, and no operation sees a part of a
-- name's keys, or finds one gone that it removed itself.
local function are_here()
  local found = redis.pcall('EXISTS', KEY, KEY .. OF_TICKETS, KEY .. OF_HELD, KEY .. OF_QUEUE, KEY .. OF_GONE, KEY .. OF_SIGNALS, KEY .. OF_WHOLE)
  if type(found) == 'number' then return true end
  if not string.find(found.err, 'non local key', 1, true) then error(found.err, 0) end
  return false
end
