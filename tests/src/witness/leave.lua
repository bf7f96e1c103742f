-- (appended to register.lua) A holder leaves: subtracts its units from the counter, after a last write to the
-- registers. Reply now (µs), 1 if the registers accepted the tokens
local taken = take()
if taken == 0 then redis.call('RPUSH', KEYS[1], 'stale ' .. ARGV[1] .. ' ' .. now) end
each(function(key, _, _, units)
    redis.call('HINCRBY', key, 'inside', -units)
end)
redis.call('SREM', KEYS[2], ARGV[1])
return { now, taken }
