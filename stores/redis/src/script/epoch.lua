-- Returns when this server may start to grant, and records its epoch for all clients: see "Restart and failover" in
-- docs/protocol.md. An epoch is identified by the server's process and last promotion. The key also has the longest
-- lease and lag that any client reported in the last one to two weeks. Each of its values can only postpone grants.
--
-- Keys: 1 the epoch key, a hash: epoch, since (µs: when the last promotion was seen; 0: never), guard (as below, the
-- highest), lease_ms, lag_ms, turn (µs: each week, next_lease_ms and next_lag_ms, the highest values since then,
-- replace lease_ms and lag_ms), written (µs: when; it is kept for a week). No key: the client knows of no
-- slot that this node of a cluster serves, and remembers the reply itself
-- Arguments: 1 lease_ms, the client's longest lease; 0: an operator asks, for whom nothing is written
--            2 lag_ms: how long a primary accepts writes at most without its replicas
--            3 guard ('0': only a failover counts; '1': a restart too; '2': also a promotion just before the restart)
--            4 '1': a failover is trusted: it does not count, and INFO may be refused
--            5 an epoch and  6 since, from the reply for another key: since counts if the epoch is this one
--            7 lease_ms and  8 turn, from the reply for another key: lease_ms counts unless this key has had its turn
--              since
-- Replies: {opens (0: the server grants now), microseconds until then, 'restart' or 'failover', epoch, since, lease_ms,
-- turn}
--          error READONLY: this server is no primary

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

-- The replication id before the promotion; zeros if the server never was a replica.
local before = field(replication, 'master_replid2')
local promoted = string.find(before, '[^0]') ~= nil
local server = redis.call('INFO', 'server')
local epoch = field(server, 'run_id')
if promoted then epoch = epoch .. ':' .. before .. ':' .. field(replication, 'second_repl_offset') end

local FIELDS = {'epoch', 'since', 'guard', 'lease_ms', 'lag_ms', 'turn', 'next_lease_ms', 'next_lag_ms', 'written'}
local known = key and redis.call('HMGET', key, unpack(FIELDS)) or {}
-- `since` is at most now, because the clock may have been stepped back.
local since = math.min(now, tonumber(known[2]) or 0)
if promoted and (known[1] ~= epoch or since == 0) then since = now end
if ARGV[5] == epoch then
  -- Two keys have the same promotion. The earlier one is more precise.
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
  -- Full memory denies neither this write nor later ones: see give.lua.
  redis.call('HDEL', key, '')
  for i, field in ipairs(FIELDS) do redis.call('HSET', key, field, record[i]) end
  redis.call('PEXPIRE', key, WEEK_MS)
end

-- A node without slots needs no pause, because names that move to it bring their leases.
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
  -- The uptime is in whole seconds. No field shows whether the server was a replica when it was started.
  local started = math.min(now, now - (tonumber(field(server, 'uptime_in_seconds')) or 0) * 1000000)
  local over = started + (lease + (guard > 1 and lag or 1000)) * 1000
  if over >= opens then opens, cause = over, 'restart' end
end
if opens <= now then return {0, 0, cause, epoch, since, lease, turn} end
return {opens, opens - now, cause, epoch, since, lease, turn}
