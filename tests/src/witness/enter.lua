-- A holder enters: counts it, and writes to the fenced register.
-- KEYS  counter, register, log, who entered last and has not left
-- ARGV  token (20 digits, so that they compare as text), who, the evidence of its last section (or empty)
-- Reply how many are inside, now (µs), 1 if the register took the token
local time = redis.call('TIME')
local now = string.format('%d%06d', time[1], time[2])
local inside = redis.call('INCR', KEYS[1])
local last = redis.call('GET', KEYS[2]) or ''
local taken = ARGV[1] >= last and 1 or 0
if taken == 1 then redis.call('SET', KEYS[2], ARGV[1]) end
redis.call('SET', KEYS[4], ARGV[2])
redis.call('RPUSH', KEYS[3], 'enter ' .. ARGV[2] .. ' ' .. ARGV[1] .. ' ' .. now .. ' ' .. inside .. ' ' .. taken)
if ARGV[3] ~= '' then redis.call('RPUSH', KEYS[3], ARGV[3]) end
return { inside, now, taken }
