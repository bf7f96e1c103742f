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
local function write(text, lives)
  return not redis.pcall('SET', main, text, 'PX', lives).err
end

local tok, seq, clk, used, cap, due, holders, waiting, size = unpack_struct('<ddddddddd', state, 5)
if not (now >= clk and now < due) then return false end

-- Where the ticket's record starts, and at which place of the queue that is; holders come before the first one.
local start, place = 77, 1 - holders
while place <= waiting and sub(state, start + 35, start + 66) ~= ticket do
  start, place = start + 35 + unpack_struct('<H', state, start), place + 1
end
if place > waiting then return false end
local after = start + 35 + unpack_struct('<H', state, start)

local held, queue = sub(state, 77, 76 + size), nil
local reply, granted, message
if place > 0 then
  -- Who follows the first one may be let in now.
  if place == 1 and waiting > 1 and used + unpack_struct('<d', state, after + 75) <= cap then return false end
  reply, waiting, queue = 'CANCELLED', waiting - 1, sub(state, 77 + size, start - 1) .. sub(state, after)
else
  held, queue = sub(state, 77, start - 1) .. sub(state, after, 76 + size), sub(state, 77 + size)
  used, holders = used - unpack_struct('<d', state, start + 75), holders - 1
  if waiting > 0 then
    local length, _, at, heard, told = unpack_struct('<HBddd', queue, 1)
    local counter, units, _, hold = unpack_struct('<dddd', queue, 68)
    if used + units <= cap then
      -- One is granted here. More than one at once, or one that has long been silent, is release.lua's matter.
      local first
      first, queue = sub(queue, 36, 35 + length), sub(queue, 36 + length)
      granted = sub(first, 81, 112)
      if waiting > 1 and used + units + unpack_struct('<d', queue, 76) <= cap
        or units == cap and granted ~= member and now - math.max(heard, told) > 2000000 then
        return false
      end
      tok, hold = math.max(now, tok + 1), math.min(2000, hold)
      local ends = now + hold * 1000
      held = held .. pack('<HBdddd', length, 1, at, heard, ends, tok) .. first
      used, holders, waiting, due = used + units, holders + 1, waiting - 1, math.min(due, ends)
      message = 'grant ' .. sub(first, 1, 32) .. string.format(' %d%09d %d %d ', tok / 1000000000, tok % 1000000000, counter, hold)
    end
  end
  -- (The first one may wait for a signal, and have no use for all units.)
  if holders == 0 then
    return waiting == 0 and write('1 i ' .. sub(state, 5, 12), '600000') and cap
  end
  reply = math.max(0, cap - used)
end

-- Whoever comes to the third place is told.
local near
if waiting >= 3 then
  local third = 36 + unpack_struct('<H', queue, 1)
  third = third + 35 + unpack_struct('<H', queue, third)
  local length, _, at, heard, told = unpack_struct('<HBddd', queue, third)
  if told == 0 then
    near = third + 35
    queue = sub(queue, 1, third - 1) .. pack('<HBdddd', length, 0, at, heard, now, 0) .. sub(queue, near)
  end
end

if not write('1 q ' .. pack('<ddddddddd', tok, seq, now, used, cap, due, holders, waiting, #held) .. held .. queue, '1200000') then
  return false
end
local name = sub(main, 13, -2)
if granted and redis.call('PUBLISH', 'auto_mutex:member:' .. granted, message .. name) == 0 then
  -- Nobody listens: as if nothing had been done.
  redis.call('SET', main, state, 'PX', '1200000')
  return false
end
if near then
  redis.call('PUBLISH', 'auto_mutex:member:' .. sub(queue, near + 80, near + 111), 'near ' .. sub(queue, near, near + 31) .. ' ' .. name)
end
return reply
