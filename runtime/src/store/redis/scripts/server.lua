-- On a server of its own.

-- Tells a member; returns how many hear it.
local function publish(member, text)
  return call('PUBLISH', CHANNEL .. member, text)
end

-- Whether all keys of the name can be reached.
local function are_here()
  return true
end
