-- One operation of a task that holds the mutex of a belt: puts or takes an item if it can, or closes the belt.
-- KEYS  the belt, the log, the progress counter
-- ARGV  the task, its token (20 digits), what (put, take, close), the bound, the reports since the last operation
--       (one per line, or empty), the belt's name
-- The belt is a hash: the number of items put, the number of items taken, the last token, whether the belt is closed.
-- Reply done, full, empty, closed (no item can be put, or none is left), or stale (another task used a later token)
local who, token, what, bound, reports, name = unpack(ARGV)
if reports ~= '' then redis.call('RPUSH', KEYS[2], reports) end
local function number(field) return tonumber(redis.call('HGET', KEYS[1], field) or 0) end
if token < (redis.call('HGET', KEYS[1], 'token') or '') then return 'stale' end
redis.call('HSET', KEYS[1], 'token', token)

local function move(field)
    local time = redis.call('TIME')
    local item = redis.call('HINCRBY', KEYS[1], field, 1)
    redis.call('INCR', KEYS[3])
    redis.call('RPUSH', KEYS[2], table.concat({
        field, who, name, item, string.format('%d%06d', time[1], time[2]),
    }, ' '))
    return 'done'
end

local put, taken = number('put'), number('taken')
local closed = number('closed') == 1
if what == 'close' then
    redis.call('HSET', KEYS[1], 'closed', 1)
    return 'done'
elseif what == 'put' then
    if closed then return 'closed' end
    return put - taken >= tonumber(bound) and 'full' or move('put')
end
if put > taken then return move('taken') end
return closed and 'closed' or 'empty'
