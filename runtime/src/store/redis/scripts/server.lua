-- For a server that stands alone.

-- Sends a message to a member; returns how many connections receive it.
local function publish(member, text)
  return call('PUBLISH', CHANNEL .. member, text)
end

-- Whether all keys of the name are at this node.
local function are_here()
  return true
end
