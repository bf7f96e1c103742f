-- (behind register.lua) A holder enters: counts its units, and writes to the registers. The evidence of its last
-- section comes along, or is empty.
-- Reply now (µs), 1 if the registers took it
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
