-- Put before every operation, after clock.lua: what the short ways need too, and the keys.
--
-- Keys of every operation, one name's, all with its hash tag:
--   1 auto_mutex:{name}          string: the state, in one of four forms
--       1 i <tok>                idle: nobody holds or waits
--       1 d <tok>                the same, and deleted since it was used
--       1 s <ticket> <heard> <hold_ms> <place_ms> <counter> <tok> <token> <units> <cap> <member> <meta>
--                                single: one plain holder until heard + hold_ms, of no owner and without a signal;
--                                nobody waits, and no signals
--       1 f STATE                full: the rest is in the other keys; see open.lua
--   2 auto_mutex:{name}:tickets  hash: ticket -> record, of waiters, and of holders unless there is just one
--   3 auto_mutex:{name}:held     sorted set: ticket -> end of its lease, unless there is just one
--   4 auto_mutex:{name}:queue    sorted set: ticket -> place; of the quiet ones, place + 2^52
--   5 auto_mutex:{name}:gone     sorted set: ticket -> end of its tombstone
--   6 auto_mutex:{name}:signals  sorted set: '<number> <text>' -> number
--
-- The other files of this folder are the parts of one function, `open`, put together in the order of scripts.rs. It is
-- for what the short way at the top of an operation does not do, and nothing of it is built before it is called.

-- A number as text, exactly. (A concatenation would round, '%.0f' takes a microsecond, and '%d' alone stops at
-- 2^31 on some servers.)
local function int(number)
  if number < 1000000000 then return string.format('%d', number) end
  return string.format('%d%09d', number / 1000000000, number % 1000000000)
end

-- Runs the long way; what is not ours is told as FOREIGN, with the same text on every version of the server.
local function guard(run)
  local ok, reply = pcall(run)
  if ok then return reply end
  local text = tostring(type(reply) == 'table' and reply.err or reply)
  if string.find(text, 'WRONGTYPE', 1, true) then
    text = 'FOREIGN a key of this name is of another type'
  elseif string.find(text, 'unpack', 1, true) then
    text = 'FOREIGN a key of this name is unreadable'
  end
  return redis.error_reply((string.gsub(text, '^%-', '')))
end
