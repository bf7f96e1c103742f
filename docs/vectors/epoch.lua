local function clock()
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]
end
local key, own_lease, own_lag, guard = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local WEEK_MS, DAY_US = 604800000, 86400000000
local now = clock()
local trusted = ARGV[4] ~= '0'
local replication = redis.pcall('INFO', 'replication')
if replication.err then
if (trusted or own_lease == 0) and guard == 0 then return {0, 0, 'failover', '', 0, 0, 0} end
return replication
end
local function field(info, name)
return string.match(info, '\n' .. name .. ':([^\r\n]*)') or ''
end
local role = field(replication, 'role')
if role ~= 'master' and role ~= '' then
return redis.error_reply('READONLY this server is a ' .. role)
end
local before = field(replication, 'master_replid2')
local promoted = string.find(before, '[^0]') ~= nil
local server = redis.call('INFO', 'server')
local epoch = field(server, 'run_id')
if promoted then epoch = epoch .. ':' .. before .. ':' .. field(replication, 'second_repl_offset') end
local FIELDS = {'epoch', 'since', 'guard', 'lease_ms', 'lag_ms', 'turn', 'next_lease_ms', 'next_lag_ms', 'written'}
local known = key and redis.call('HMGET', key, unpack(FIELDS)) or {}
local since = math.min(now, tonumber(known[2]) or 0)
if promoted and (known[1] ~= epoch or since == 0) then since = now end
if ARGV[5] == epoch then
since = (promoted and math.min or math.max)(since, tonumber(ARGV[6]))
end
if known[1] == epoch then guard = math.max(guard, tonumber(known[3]) or 0) end
local turn, elsewhere = tonumber(known[6]) or 0, tonumber(ARGV[8])
local lease, lag = math.max(own_lease, tonumber(known[4]) or 0), math.max(own_lag, tonumber(known[5]) or 0)
if elsewhere >= turn then lease = math.max(lease, tonumber(ARGV[7])) end
local next_lease, next_lag = math.max(own_lease, tonumber(known[7]) or 0), math.max(own_lag, tonumber(known[8]) or 0)
if turn == 0 then turn = elsewhere end
if turn == 0 or turn > now then turn = now end
if now - turn > WEEK_MS * 1000 then
lease, lag, next_lease, next_lag, turn = next_lease, next_lag, own_lease, own_lag, now
end
local record = {epoch}
for i, number in ipairs({since, guard, lease, lag, turn, next_lease, next_lag, now}) do record[i + 1] = string.format('%.0f', number) end
local age = now - (tonumber(known[9]) or 0)
local stale = age < 0 or age > DAY_US
for i = 1, 8 do stale = stale or record[i] ~= known[i] end
if key and stale and own_lease > 0 then
redis.call('HDEL', key, '')
for i, field in ipairs(FIELDS) do redis.call('HSET', key, field, record[i]) end
redis.call('PEXPIRE', key, WEEK_MS)
end
local function serves()
local id, ranges = redis.pcall('CLUSTER', 'MYID'), redis.pcall('CLUSTER', 'SLOTS')
if type(id) ~= 'string' or ranges.err then return true end
for _, range in ipairs(ranges) do
if range[3][3] == id then return true end
end
end
if not key and not serves() then return {0, 0, 'failover', epoch, since, lease, turn} end
local opens, cause = 0, 'failover'
if not trusted and since > 0 then opens = since + (lease + lag) * 1000 end
if guard > 0 and (trusted or not promoted) then
local started = math.min(now, now - (tonumber(field(server, 'uptime_in_seconds')) or 0) * 1000000)
local over = started + (lease + (guard > 1 and lag or 1000)) * 1000
if over >= opens then opens, cause = over, 'restart' end
end
if opens <= now then return {0, 0, cause, epoch, since, lease, turn} end
return {opens, opens - now, cause, epoch, since, lease, turn}
