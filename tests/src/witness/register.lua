-- The fenced registers, one for each name. They represent the protected resources.
-- KEYS  the log, the tasks that hold, the progress counter, then the register of each name
-- ARGV  the task, its evidence; then for each name: the name, token (20 digits, so that tokens compare as text), units,
--       capacity
--
-- A holder of all units writes: its token must not be below any token that the register has seen. A holder of some
-- units reads beside other readers: its token must not be below that of the last write. All registers accept the
-- tokens, or none does.
local time = redis.call('TIME')
local now = string.format('%d%06d', time[1], time[2])

local function each(visit)
    for i = 4, #KEYS do
        local at = 3 + (i - 4) * 4
        visit(KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
    end
end

local function take()
    local taken = 1
    each(function(key, _, token, units, capacity)
        local last = redis.call('HGET', key, units == capacity and 'seen' or 'written') or ''
        if token < last then taken = 0 end
    end)
    if taken == 0 then return 0 end
    each(function(key, _, token, units, capacity)
        if units == capacity then redis.call('HSET', key, 'written', token) end
        if token > (redis.call('HGET', key, 'seen') or '') then redis.call('HSET', key, 'seen', token) end
    end)
    return 1
end

