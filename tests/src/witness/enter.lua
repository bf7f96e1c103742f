-- (appended to register.lua) A holder enters: adds its units to the counter, and writes to the registers.
-- ARGV[2] is the evidence of the holder's last section, or empty.
-- Reply now (µs), 1 if the registers accepted the tokens
local taken = take()
local line = 'enter ' .. ARGV[1] .. ' ' .. now .. ' ' .. taken
each(function(key, name, token, units, capacity)
    local inside = redis.call('HINCRBY', key, 'inside', units)
    line = line .. ' ' .. name .. '/' .. token .. '/' .. units .. '/' .. capacity .. '/' .. inside
end)
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('INCR', KEYS[3])
redis.call('RPUSH', KEYS[1], line)
if ARGV[2] ~= '' then redis.call('RPUSH', KEYS[1], ARGV[2]) end
return { now, taken }
