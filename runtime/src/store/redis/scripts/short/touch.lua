-- The short way of a touch: all it needs is in the first key.
--
-- Keys: 1 auto_mutex:{name}, in one of the forms of common/base.lua
-- Arguments: 1 ticket (that gives no units back)  2 counter, hold_ms, place_ms, as a record keeps them
-- Replies: the token, a number, for a grant
--          'QUEUED <position> <again_ms> <token of the holder> <meta of the holder>'
--          nil: nothing was done, touch.lua is needed

local unpack_struct, pack, sub = struct.unpack, struct.pack, string.sub
local main, ticket = KEYS[1], ARGV[1]
local now = clock()

-- Says whether it was written. (A full memory may deny it; touch.lua knows what to do then.)
local function write(text)
  return not redis.pcall('SET', main, text, 'PX', '1200000').err
end

local state = redis.call('GET', main)
local form = state and sub(state, 1, 4)
local counter, hold, place = unpack_struct('<ddd', ARGV[2], 1)

-- The request of a record, from where it starts, as it is by now.
local function heard_again(start, length)
  local last, units, cap, _, _, takes = unpack_struct('<dddddd', state, start + 32)
  return ticket .. pack('<dddddd', math.max(last, counter), units, cap, hold, place, takes)
    .. sub(state, start + 80, start + length - 1)
end

if form == '1 s ' then
  if sub(state, 29, 60) ~= ticket then return false end
  local heard, tok, token = unpack_struct('<ddd', state, 5)
  local lease = unpack_struct('<d', state, 85)
  return tok <= now and now >= heard and now < heard + lease * 1000
    and write('1 s ' .. pack('<d', now) .. sub(state, 13, 28) .. heard_again(29, #state - 28)) and token
elseif form ~= '1 q ' then
  return false
end

local tok, seq, clk, used, cap, due, holders, waiting, size = unpack_struct('<ddddddddd', state, 5)
if not (now >= clk and now < due) then return false end

-- Where the ticket's record starts, and at which place of the queue that is; holders come before the first one. And when
-- the first of the other leases ends.
local start, at, first = 77, 1 - holders, 9007199254740992
local length, flag, number, _, told, token
while at <= waiting do
  length, flag, number, _, told, token = unpack_struct('<HBdddd', state, start)
  if sub(state, start + 36, start + 67) == ticket then break end
  if at <= 0 then first = math.min(first, told) end
  start, at = start + 36 + length, at + 1
end
if at > waiting then return false end

local ends = now + place * 1000
local reply
if at <= 0 then
  ends = now + hold * 1000
  flag, told, reply = 0, ends, token
else
  local again = place / 3
  told = 0
  if at <= 3 then
    again, told = math.min(1100, math.ceil((first - now) / 1000) + 1), now
  end
  local eldest, _
  eldest, _, _, _, _, token = unpack_struct('<HBdddd', state, 77)
  reply = string.format('QUEUED %d %d %d%09d %s', at, math.max(1, again), token / 1000000000, token % 1000000000,
    sub(state, 225, 112 + eldest))
  token = 0
end
return write('1 q ' .. pack('<ddddddddd', tok, seq, now, used, cap, math.min(due, ends), holders, waiting, size)
  .. sub(state, 77, start - 1) .. pack('<HBddddB', length, flag, number, now, told, token, 31)
  .. heard_again(start + 36, length) .. sub(state, start + 36 + length)) and reply
