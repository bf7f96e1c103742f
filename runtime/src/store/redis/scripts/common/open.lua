-- The state, and the records of the tickets. `open` reads the first key, whose text it is given; it changes nothing. While
-- `now` is before `opens`, nothing is granted.
--
-- STATE is, as doubles, tok cap seq clk used tombs holders waiting due expires told known signals last lent owned asking,
-- and eldest; then, if there is just one holder, its ticket, the end of its lease and its record. A record is, as doubles, place
-- units hold_ms place_ms counter heard told token number, as bytes, flag takes, as strings, owner member meta, and then,
-- up to its end, the text of the signal with that number, if that is not 0. (Doubles hold microseconds exactly, and to
-- read and write them as text would take most of the time of an operation.)
--
-- A place ends at heard + place_ms of its record. In STATE: `used` units are held by `holders`; `waiting`
-- are in the queue, quiet ones too; tombstones end at `tombs` at the latest (0: there are none); nothing in the
-- sorted set and no place ends before `due`; the other keys live until `expires` at least; who waits at a place up
-- to `told` and is not quiet was told that it is near (0: look again); `known` is 1 if it was used and not deleted since;
-- `signals` wait, `lent` are held, and the last number of one was `last`; of the holders, `owned` have an owner, of the
-- waiters, `asking` have one; of many holders, the one that has held for the longest is `eldest` (empty: look again).
-- `listed`, if it stood in the form `q`: what belongs into the sets, {held, queue}, each as ZADD takes it, and nothing is in
-- the other keys yet; `spread`: something may be there. Up to `most` tickets are put into that form in the end.
local function open(now, opens, state)
  local call, match, max, min, pack, unpack_struct =
    redis.call, string.match, math.max, math.min, struct.pack, struct.unpack
  local MAIN, TICKETS, HELD, QUEUE, GONE, SIGNALS = unpack(KEYS)
  local QUIET, FAR = 4503599627370496, 9007199254740992
  local CLAIM_MS, NEAR_MS, NEAR, TOMB_MS = 2000, 1100, 3, 30000
  -- How many go into the form `q`; and from the full form back into it, if there are so few.
  local MOST, FEW, LONGEST_META = 32, 16, 512
  local closed = now < opens
  -- Signals are kept for longer than all else: a day.
  local KEPT_MS, SIGNALS_KEPT_MS, LONGEST_LEASE_MS = 600000, 86400000, 30000

  -- Flags: 0 plain, 1 provisional, 2 parked, 3 a quiet waiter. The token is 0 exactly while it waits.
  local STATE, ONE, RECORD = '<ddddddddddddddddds', '<sd', '<dddddddddBBsss'
  local SINGLE, LIST, LISTED, REQUEST = '<ddd', '<ddddddddd', '<HBddddB', '<dddddd'

  -- All fields at once, so that the table is made in its final size. (With more than 32 it would be twice as large.)
  local s = {tok = 0, cap = 0, seq = 0, clk = 0, used = 0, tombs = 0, holders = 0, waiting = 0, due = FAR,
    expires = 0, told = 0, known = 0, signals = 0, last = 0, lent = 0, owned = 0, asking = 0, eldest = '',
    one = nil, one_ends = nil, listed = nil, spread = false, most = FEW, record = nil, prune = nil, grant = nil, enter = nil, hear = nil, standing = nil,
    close = nil, drop_holder = nil, drop_waiter = nil, owners = nil, signal = nil, rare = nil}
  local records = {} -- ticket -> record; false: there is none
  local stored = {}  -- tickets with a record in the hash
  local changed = {} -- tickets whose record there is to be written or removed
  local moved = false -- who is among the first may have changed

  -- All functions are made in here: a closure takes what stands above from this one, which is cheaper than from a stack.
  local function build()

  local function foreign(what)
    error('FOREIGN ' .. what, 0)
  end

  local function record_of(place, units, hold, wait, counter, heard, told, token, number, flag, takes, owner, member,
    meta, text)
    local sum = place + units + hold + wait + counter + heard + told + token + number
    if not (sum >= 0 and sum <= 9 * FAR and token >= 0 and token <= s.tok) then foreign('a record is unreadable') end
    return {
      place = place, units = units, hold = hold, wait = wait, counter = counter, heard = heard, told = told,
      token = token, number = number, flag = flag, takes = takes, owner = owner, member = member, meta = meta,
      text = text,
    }
  end

  -- The record that begins at a place of a text and ends with it.
  local function read_record(text, start)
    local place, units, hold, wait, counter, heard, told, token, number, flag, takes, owner, member, meta, next =
      unpack_struct(RECORD, text, start)
    return record_of(place, units, hold, wait, counter, heard, told, token, number, flag, takes, owner, member, meta,
      number > 0 and string.sub(text, next) or '')
  end

  -- The ticket and the record of the request that is a part of a text.
  local function read_request(text, start, stop, place, heard, told, token, flag)
    local counter, units, _, hold, wait, takes = unpack_struct(REQUEST, text, start + 32)
    local ticket, member = string.sub(text, start, start + 31), string.sub(text, start + 80, start + 111)
    if stop < start + 111 or takes > 1 then foreign('a record is unreadable') end
    return ticket, record_of(place, units, hold, wait, counter, heard, told, token, 0, flag, takes, '', member,
      string.sub(text, start + 112, stop), '')
  end

  local function request_of(ticket, r)
    return ticket .. pack(REQUEST, r.counter, r.units, s.cap, r.hold, r.wait, r.takes) .. r.member .. r.meta
  end

  local function text_of(r)
    return pack(RECORD, r.place, r.units, r.hold, r.wait, r.counter, r.heard, r.told, r.token, r.number, r.flag,
      r.takes, r.owner, r.member, r.meta) .. r.text
  end

  -- Whether the holders are in the set.
  local function held_by_many()
    return s.holders > 0 and not s.one
  end

  -- The record of a ticket, or false.
  function s.record(ticket)
    local r = records[ticket]
    if r == nil then
      local text = not s.listed and (s.waiting > 0 or held_by_many()) and call('HGET', TICKETS, ticket)
      stored[ticket] = text and true
      r = text and read_record(text, 1)
      records[ticket] = r
    end
    return r
  end

  -- The record of a ticket that is in a set.
  local function need(ticket)
    return s.record(ticket) or foreign('a record is missing')
  end

  -- The members and scores of a ZRANGE … WITHSCORES, one pair after the other.
  local function pairs_of(list)
    local i = -1
    return function()
      i = i + 2
      if list[i] then return list[i], tonumber(list[i + 1]) end
    end
  end
