-- The short way of an acquire: all it needs is in the first key.
--
-- Keys: 1 auto_mutex:{name}, in one of the forms of common/base.lua
-- Arguments: 1 the request, as a record keeps it (units at most the capacity, no owner)  2 'try', or nothing
-- Replies: the token, a number, for a grant
--          'QUEUED <position> <again_ms> <token of the holder> <meta of the holder>'
--          'BUSY <token of the holder> <meta of the holder>'
--          nil: nothing was done, acquire.lua is needed

local unpack_struct, pack, sub = struct.unpack, struct.pack, string.sub
local main, request = KEYS[1], ARGV[1]
local now = clock()

local state = redis.call('GET', main)
local form = state and sub(state, 1, 4)
if not state or form == '1 i ' and #state == 12 and unpack_struct('<d', state, 5) < now then
  redis.call('SET', main, '1 s ' .. pack('<ddd', now, now, now) .. request, 'PX', '1200000')
  return now
end

local tok, seq, clk, used, cap, due, holders, waiting, held, token, meta
if form == '1 s ' then
  clk, tok, token = unpack_struct('<ddd', state, 5)
  local _, hold
  _, used, cap, hold = unpack_struct('<dddd', state, 61)
  due, seq, holders, waiting, held, meta = clk + hold * 1000, 0, 1, 0, 35 + #state - 28, sub(state, 141)
elseif form == '1 q ' then
  tok, seq, clk, used, cap, due, holders, waiting, held = unpack_struct('<ddddddddd', state, 5)
  local size, _
  size, _, _, _, _, token = unpack_struct('<HBdddd', state, 77)
  meta = sub(state, 224, 111 + size)
else
  return false
end

local _, units, capacity, hold, place = unpack_struct('<ddddd', request, 33)
if not (now >= clk and now < due and token > 0 and token <= tok and tok < 9007199254740992) or capacity ~= cap or string.find(state, sub(request, 1, 32), 5, true) then
  return false
end
local room = waiting == 0 and used + units <= cap
if not room and ARGV[2] then
  return string.format('BUSY %d%09d %s', token / 1000000000, token % 1000000000, meta)
end
if holders + waiting >= 32 then return false end

local records = form == '1 q ' and sub(state, 77) or pack('<HBdddd', #state - 28, 0, 0, clk, due, token) .. sub(state, 29)
local ends, reply = now + place * 1000, nil
seq = seq + 1
if room then
  tok = math.max(now, tok + 1)
  ends, reply = now + hold * 1000, tok
  holders, used, held = holders + 1, used + units, held + 35 + #request
  records = records .. pack('<HBdddd', #request, 0, seq, now, ends, tok) .. request
else
  waiting = waiting + 1
  local again = place / 3
  if waiting <= 3 then
    -- When the first lease ends.
    local first, start = 9007199254740992, 1
    for _ = 1, holders do
      local size, _, _, _, lease = unpack_struct('<HBddd', records, start)
      first, start = math.min(first, lease), start + 35 + size
    end
    again = math.min(667, math.ceil((first - now) / 1000) + 1)
  end
  reply = string.format('QUEUED %d %d %d%09d %s', waiting, math.max(1, again), token / 1000000000, token % 1000000000, meta)
  records = records .. pack('<HBdddd', #request, 0, seq, now, waiting <= 3 and now or 0, 0) .. request
end
redis.call('SET', main,
  '1 q ' .. pack('<ddddddddd', tok, seq, now, used, cap, math.min(due, ends), holders, waiting, held) .. records,
  'PX', '1200000')
return reply
