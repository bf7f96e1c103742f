-- Put before the operations, which together are one script, after clock.lua: the keys, and what needs no state.
--
-- Keys of every operation, one name's, all with its hash tag:
--   1 auto_mutex:{name}          string: the state, in one of five forms; numbers are doubles, one behind the other
--       1 i TOK                  idle: nobody holds or waits
--       1 d TOK                  the same, and deleted since it was used
--       1 s HEARD TOK TOKEN REQUEST
--                                single: one plain holder until heard + hold_ms; nobody waits
--       1 q TOK SEQ CLK USED CAP DUE HOLDERS WAITING SIZE HELD QUEUE
--                                queue: up to 32 holders and waiters; there is a holder, nobody is quiet or parked
--                                HELD: SIZE bytes, the holders' records, in order of token; QUEUE: the waiters', of place;
--                                no lease and no place ends before DUE; the first of QUEUE does not fit, and the first
--                                three have been told so
--       1 f STATE                full: the rest is in the other keys; see open.lua
--     In `s` and `q` nobody has an owner or a signal, and there are neither signals nor tombstones.
--     A record of `q`: 2 bytes, the length of its request, 1 byte, 1 if it is provisional, and PLACE HEARD, for a holder the
--       end of its lease, for a waiter when it was told that it is near (or 0), TOKEN (0: it waits), 1 byte, 31, REQUEST
--     REQUEST: the ticket, 32 bytes; COUNTER UNITS CAPACITY HOLD_MS PLACE_MS TAKES; the member, 32 bytes; meta
--     Of `i` and `s`: the time to live was set to twenty minutes or more when the key was first written within the 256 s (by
--     the server's clock, from a multiple of that) in which TOK is.
--   2 auto_mutex:{name}:tickets  hash: ticket -> record, of waiters, and of holders unless there is just one
--   3 auto_mutex:{name}:held     sorted set: ticket -> end of its lease, unless there is just one
--   4 auto_mutex:{name}:queue    sorted set: ticket -> place; of the quiet ones, place + 2^52
--   5 auto_mutex:{name}:gone     sorted set: ticket -> end of its tombstone
--   6 auto_mutex:{name}:signals  sorted set: '<number> <text>' -> number
--
-- First argument of every operation: which one it is. The second of all but inspect: `opens`, the time before which nothing is
-- granted (0: open).
--
-- The other files of this folder are the parts of one function, `open`, put together in the order of scripts.rs.

-- A number as text, exactly. (A concatenation would round, '%.0f' takes a microsecond, and '%d' alone stops at
-- 2^31 on some servers.)
local function int(number)
  if number < 1000000000 then return string.format('%d', number) end
  return string.format('%d%09d', number / 1000000000, number % 1000000000)
end

-- Runs the long way; what is not ours is told as FOREIGN, with the same text on every version of the server. A fault of our own is
-- told as it is.
local function guard(run)
  local ok, reply = pcall(run)
  if ok then return reply end
  local text = tostring(type(reply) == 'table' and reply.err or reply)
  if string.find(text, 'WRONGTYPE', 1, true) then
    text = 'FOREIGN a key of this name is of another type'
  elseif string.find(text, 'bad argument.*unpack') or string.find(text, ' in data', 1, true) then
    text = 'FOREIGN a key of this name is unreadable'
  end
  return redis.error_reply((string.gsub(text, '^%-', '')))
end
