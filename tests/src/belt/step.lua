-- Somebody who has the mutex looks at the belt, and puts or takes an item if it can.
-- KEYS  belt, register (the last token), how many items were made, closed, who waits, log, progress
-- ARGV  who, token (20 digits), what (put, take, close), bound, reports since the last step (one per line, or empty)
-- Reply done, full, empty, closed (nothing will come any more), or stale (somebody else had the mutex since)
if ARGV[5] ~= '' then redis.call('RPUSH', KEYS[6], ARGV[5]) end
redis.call('HDEL', KEYS[5], ARGV[1])
if ARGV[2] < (redis.call('GET', KEYS[2]) or '') then return 'stale' end
redis.call('SET', KEYS[2], ARGV[2])

local time = redis.call('TIME')
local now = string.format('%d%06d', time[1], time[2])
local function moved(how, item)
    redis.call('INCR', KEYS[7])
    redis.call('RPUSH', KEYS[6], how .. ' ' .. ARGV[1] .. ' ' .. item .. ' ' .. now)
    return 'done'
end
local function waits(for_what)
    redis.call('HSET', KEYS[5], ARGV[1], for_what)
    return for_what
end

local closed = redis.call('EXISTS', KEYS[4]) == 1
if ARGV[3] == 'close' then
    redis.call('SET', KEYS[4], 1)
    return 'done'
elseif ARGV[3] == 'put' then
    if closed then return 'closed' end
    if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[4]) then return waits('full') end
    local item = redis.call('INCR', KEYS[3])
    redis.call('RPUSH', KEYS[1], item)
    return moved('put', item)
end
local item = redis.call('LPOP', KEYS[1])
if item then return moved('took', item) end
return closed and 'closed' or waits('empty')
