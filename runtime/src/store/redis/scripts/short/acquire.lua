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
local tok = form == '1 i ' and #state == 12 and unpack_struct('<d', state, 5)
if not state or tok and tok < now then
  local text = '1 s ' .. pack('<ddd', now, now, now) .. request
  if tok and now - tok <= now % 256000000 then
    -- It was set to twenty minutes less than five minutes ago: see common/base.lua.
    redis.call('SET', main, text, 'KEEPTTL')
  else
    redis.call('SET', main, text, 'PX', '1200000')
  end
  return now
end

local seq, clk, used, cap, due, holders, waiting, held, token, meta
if form == '1 s ' then
  -- (Of any length here, but not in a queue.)
  if #state > 652 then return false end
  clk, tok, token = unpack_struct('<ddd', state, 5)
  local _, hold
  _, used, cap, hold = unpack_struct('<dddd', state, 61)
  due, seq, holders, waiting, held, meta = clk + hold * 1000, 0, 1, 0, 36 + #state - 28, sub(state, 141)
elseif form == '1 q ' then
  tok, seq, clk, used, cap, due, holders, waiting, held = unpack_struct('<ddddddddd', state, 5)
  local size, _
  size, _, _, _, _, token = unpack_struct('<HBdddd', state, 77)
  meta = sub(state, 225, 112 + size)
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

-- The parts of the new text, each cut out once: to make a string takes time for each of its bytes.
local single = form == '1 s ' and pack('<HBddddB', #state - 28, 0, 0, clk, due, token, 31) or ''
local rest = sub(state, single == '' and 77 or 29)
-- Who waits will ask again soon by itself, and need not be told to.
local ends, reply, told, granted = now + place * 1000, nil, now, 0
seq = seq + 1
if room then
  tok = math.max(now, tok + 1)
  ends, reply, granted = now + hold * 1000, tok, tok
  told, holders, used, held = ends, holders + 1, used + units, held + 36 + #request
else
  waiting = waiting + 1
  local again = math.min(1100, place / 3)
  if waiting <= 3 then
    -- When the first lease ends.
    local first, start = due, 77
    if single == '' then
      first = 9007199254740992
      for _ = 1, holders do
        local size, _, _, _, lease = unpack_struct('<HBddd', state, start)
        first, start = math.min(first, lease), start + 36 + size
      end
    end
    again = math.min(1100, math.ceil((first - now) / 1000) + 1)
  end
  reply = string.format('QUEUED %d %d %d%09d %s', waiting, math.max(1, again), token / 1000000000, token % 1000000000, meta)
end
redis.call('SET', main,
  '1 q ' .. pack('<ddddddddd', tok, seq, now, used, cap, math.min(due, ends), holders, waiting, held) .. single .. rest
    .. pack('<HBddddB', #request, 0, seq, now, told, granted, 31) .. request,
  'PX', '1200000')
return reply
