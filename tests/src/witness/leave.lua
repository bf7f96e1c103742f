-- A holder leaves: uncounts it, after a last write to the fenced register.
-- KEYS  counter, register, log, who entered last and has not left
-- ARGV  token (20 digits), who
-- Reply how many are left inside, now (µs), 1 if the register took the token
local time = redis.call('TIME')
local now = string.format('%d%06d', time[1], time[2])
local last = redis.call('GET', KEYS[2]) or ''
local taken = ARGV[1] >= last and 1 or 0
if taken == 1 then redis.call('SET', KEYS[2], ARGV[1]) end
if taken == 0 then redis.call('RPUSH', KEYS[3], 'stale ' .. ARGV[2] .. ' ' .. ARGV[1] .. ' ' .. now) end
if redis.call('GET', KEYS[4]) == ARGV[2] then redis.call('DEL', KEYS[4]) end
return { redis.call('DECR', KEYS[1]), now, taken }
