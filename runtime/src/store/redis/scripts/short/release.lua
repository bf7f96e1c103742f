-- The short way of a release: all it needs is in the first key.
--
-- Keys: 1 auto_mutex:{name}, in one of the forms of common/base.lua
-- Arguments: 1 ticket (not to be parked, no tombstone, no signal used)  2 member
-- Replies: what can be had now, a number, for RELEASED
--          'CANCELLED'
--          nil: nothing was done, release.lua is needed

local unpack_struct, pack, sub = struct.unpack, struct.pack, string.sub
local main, ticket, member = KEYS[1], ARGV[1], ARGV[2]

local state = redis.call('GET', main)
local form = state and sub(state, 1, 4)
if form == '1 s ' then
  -- The key was written when it was last heard of, for long enough.
  return sub(state, 29, 60) == ticket and not redis.pcall('SET', main, '1 i ' .. sub(state, 13, 20), 'KEEPTTL').err
    and (unpack_struct('<d', state, 77))
elseif form ~= '1 q ' then
  return false
end

local now = clock()
local function write(text)
  return not redis.pcall('SET', main, text, 'PX', '1200000').err
end

local tok, seq, clk, used, cap, due, holders, waiting, size = unpack_struct('<ddddddddd', state, 5)
if not (now >= clk and now < due) then return false end

-- Where the ticket's record starts and ends. (This byte is in no text, and the ticket behind it nowhere else.)
local start = string.find(state, '\31' .. ticket, 77, true)
if not start then return false end
start = start - 35
local after = start + 36 + unpack_struct('<H', state, start)
local first = 77 + size

-- The new text is cut out of the old one, each part once: to make a string takes time for each of its bytes.
-- `queue` is where the queue goes on.
local held, queue, left = '', first, ''
local reply, granted, message
if start >= first then
  -- Who follows the first one may be let in now.
  if start == first and waiting > 1 and used + unpack_struct('<d', state, after + 76) <= cap then return false end
  reply, waiting, held = 'CANCELLED', waiting - 1, sub(state, 77, 76 + size)
  left, queue = sub(state, first, start - 1), after
else
  used, holders, size = used - unpack_struct('<d', state, start + 76), holders - 1, size - (after - start)
  if holders > 0 then held = sub(state, 77, start - 1) .. sub(state, after, first - 1) end
  if waiting > 0 then
    local length, _, at, heard, told = unpack_struct('<HBddd', state, first)
    local counter, units, _, hold = unpack_struct('<dddd', state, first + 68)
    if used + units <= cap then
      -- One is granted here. More than one at once, or one that has long been silent, is release.lua's matter.
      queue = first + 36 + length
      granted = sub(state, first + 116, first + 147)
      if waiting > 1 and used + units + unpack_struct('<d', state, queue + 76) <= cap
        or units == cap and granted ~= member and now - math.max(heard, told) > 2000000 then
        return false
      end
      tok, hold = math.max(now, tok + 1), math.min(2000, hold)
      local ends = now + hold * 1000
      held = held .. pack('<HBddddB', length, 1, at, heard, ends, tok, 31) .. sub(state, first + 36, queue - 1)
      used, holders, waiting, due, size = used + units, holders + 1, waiting - 1, math.min(due, ends), size + 36 + length
      message = string.format('grant %s %d%09d %d %d ', sub(state, first + 36, first + 67), tok / 1000000000,
        tok % 1000000000, counter, hold)
    end
  end
  -- (The first one may wait for a signal, and have no use for all units.)
  if holders == 0 then
    return waiting == 0 and tok <= now and write('1 i ' .. sub(state, 5, 12)) and cap
  end
  reply = math.max(0, cap - used)
end

-- Whoever comes to the third place is told; who was there before has been.
local near
if waiting >= 3 then
  local third = left == '' and queue or first
  for place = 1, 2 do
    third = third + 36 + unpack_struct('<H', state, third)
    if third == start then third = after end
  end
  local length, _, at, heard, told = unpack_struct('<HBddd', state, third)
  if told == 0 then
    near = third + 36
    left = left .. sub(state, queue, third - 1) .. pack('<HBddddB', length, 0, at, heard, now, 0, 31)
    queue = near
  end
end

if not write('1 q ' .. pack('<ddddddddd', tok, seq, now, used, cap, due, holders, waiting, size) .. held .. left
  .. sub(state, queue)) then
  return false
end
local name = sub(main, 13, -2)
if granted and publish(granted, message .. name) == 0 then
  -- Nobody listens: as if nothing had been done.
  redis.call('SET', main, state, 'PX', '1200000')
  return false
end
if near then
  publish(sub(state, near + 80, near + 111), 'near ' .. sub(state, near, near + 31) .. ' ' .. name)
end
return reply
