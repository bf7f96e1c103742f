-- Sends a message to a member. Returns how many connections receive it.
local function publish(member, text)
  member = hex(member)
  -- In the slot of the name, so that other nodes needn't forward the message.
  if redis.REDIS_VERSION_NUM then
    local heard = redis.pcall('SPUBLISH', KEY .. SHARD_CHANNEL .. member, text)
    if type(heard) == 'number' and heard > 0 then return heard end
  end
  return call('PUBLISH', CHANNEL .. member, text)
end

-- Whether all keys of the name are on this node. While the slot migrates, the server refuses keys that have left. The
-- last key never exists, so both nodes refuse until the whole slot has moved, and no operation sees only some keys.
local function are_here()
  local found = redis.pcall('EXISTS', KEY, KEY .. OF_TICKETS, KEY .. OF_HELD, KEY .. OF_TOKENS, KEY .. OF_QUEUE, KEY .. OF_WAITS, KEY .. OF_GONE, KEY .. OF_SIGNALS, KEY .. OF_WHOLE)
  if type(found) == 'number' then return true end
  -- Servers word this refusal differently, so any other error counts as one. The command itself is refused only if a
  -- right was taken away since set-up.
  for _, text in ipairs({'NOPERM', 'The user executing the script', 'ACL failure in script'}) do
    if string.find(found.err, text, 1, true) then error(found.err, 0) end
  end
  return false
end
