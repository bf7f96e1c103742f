-- The state of a name as tables, and all the rules.
--
--   3 q TOK CAP SEQ CLK USED DUE LATEST TOLD HOLDERS WAITING KNOWN SIZE RECORD…
--   3 f the same, TOMBS EXPIRES SIGNALS LAST LENT HELD_APART QUEUE_APART, RECORD…
-- First the holders, in order of token; then the waiters, in order of place, the quiet ones last.
-- Records that don't fit are in other keys: see apart.lua.
--
-- USED: held units. DUE: no lease or place ends before. LATEST: no lease ends after. TOLD: waiters up to this place,
-- except quiet ones, know that they are near (0: check again). TOMBS: when tombstones end at the latest (0: none).
-- EXPIRES: until when the other keys live at least. KNOWN: 1 if the name was used and not deleted afterwards. SIGNALS,
-- LENT: available and held ones; LAST: the last one's number. The numbers that `3 q` leaves out are zero.
--
-- RECORD: the fixed part, then REQUEST (never a short one), then the number and the text of a held signal. The fixed
-- part: 4 bytes, the length of all that follows; 4 bytes, the length of the signal; 1 byte, FLAG; PLACE HEARD WHEN
-- TOKEN; 1 byte, 31. FLAG: 0 plain, 1 provisional, 2 parked (released, but keeps its units until its lease ends), 3 a
-- quiet waiter (didn't receive or claim a grant; is passed over until it touches). HEARD: the last touch. WHEN: the end
-- of a holder's lease, or when a waiter was told that it is near. TOKEN: 0 for a waiter only.
--
-- For Redis, making a function or a table with names takes longer than most operations. All operations therefore share
-- the same steps in one function, and rare functions are made on first use (`plain`: no rare case can apply). The
-- numbers of the state and of a record are in arrays.
local function run()
  local ceil, insert, remove = math.ceil, table.insert, table.remove
  local s = {0, 0, 0, 0, 0, FAR, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
  -- Each entry is a record or, until it is decoded, its index in `starts`, which has its position in `state`.
  local held, queue, starts = {}, {}, {}
  -- Ticket -> record; false if there is no record.
  local records = {}
  local opens, closed, renews, plain = 0, false, false, true
  -- `moved`: the first waiters may have changed. `allowed`: there was a first write, so Redis denies no other.
  local moved, allowed = false, false
  -- The most holders, or waiters, in the first key, and how few there must be for all to move back to it.
  local most, few = MOST, FEW
  local reach, others, signalling, seldom

  local function foreign(what)
    error('FOREIGN ' .. what, 0)
  end

  -- Exact: a concatenation would round, '%.0f' takes a microsecond, and '%d' alone stops at 2^31 on some servers.
  local function int(number)
    if number < 1000000000 then return string.format('%d', number) end
    return string.format('%d%09d', number / 1000000000, number % 1000000000)
  end

  local function record_of(request, flag, place, heard, time, token, number, text)
    local code, counter, hold, wait, units = unpack_struct('<BIIII', request, 33)
    local sum, mode = place + heard + time + token + number, code % 8
    if not (sum >= 0 and sum <= 5 * FAR and token >= 0 and token <= s[TOK] and mode <= 5 and code >= ACQUIRE + LONG and code < ACQUIRE + 2 * LONG) then
      foreign('a record is unreadable')
    end
    local ticket = sub(request, 1, 16)
    local r = {flag, place, heard, time, token, number, ticket, request, hold, wait, units, mode, counter, true, text}
    records[ticket] = r
    return r
  end

  local function read(text, start, stop)
    if stop - start + 1 < RECORD_SIZE then foreign('a record is unreadable') end
    local size, signal, flag, place, heard, time, token, mark = unpack_struct('<IIBddddB', text, start)
    local from = start + RECORD_SIZE
    if mark ~= 31 or flag > 3 or from + size ~= stop + 1 or size - signal < LONG_SIZE then foreign('a record is unreadable') end
    if signal == 0 then return record_of(sub(text, from, stop), flag, place, heard, time, token, 0) end
    if signal < 8 then foreign('a record is unreadable') end
    local number, next = unpack_struct('<d', text, stop - signal + 1)
    return record_of(sub(text, from, stop - signal), flag, place, heard, time, token, number, sub(text, next, stop))
  end

  local function fetch(list, i)
    local r = list[i]
    if type(r) == 'number' then
      r = read(state, starts[r], starts[r + 1] - 1)
      if (list == held) ~= (r[TOKEN] > 0) then foreign('a record is unreadable') end
      list[i], r[CHANGED] = r, list[i]
    end
    return r
  end

  local function index_of(list, one)
    for i = 1, #list do
      if list[i] == one then return i end
    end
    foreign('a record is missing')
  end

  local function find(ticket)
    local r = records[ticket]
    if r ~= nil then return r end
    if starts[1] and string.find(state, '\31' .. ticket, starts[1], true) then
      for _, list in ipairs({held, queue}) do
        for i = 1, #list do
          local at = starts[list[i]]
          if at and sub(state, at + RECORD_SIZE, at + RECORD_SIZE + 15) == ticket then return fetch(list, i) end
        end
      end
    end
    return s[HELD_APART] + s[QUEUE_APART] > 0 and others().find(ticket)
  end

  -- Nil if the waiter is quiet or does not exist. For a waiter in the first key, also returns the time of its last
  -- message.
  local function place_at(i)
    if s[QUEUE_APART] == 1 then return others().place(i) end
    local r = queue[i]
    if not r then return end
    if type(r) == 'table' then
      if r[FLAG] ~= 3 then return r[PLACE], r[WHEN] end
    else
      local flag, place, _, told = unpack_struct('<Bddd', state, starts[r] + 8)
      if flag ~= 3 then return place, told end
    end
  end

  local function eldest_holder()
    return s[HELD_APART] == 0 and fetch(held, 1) or others().eldest()
  end

  local function meta_of(r)
    return sub(r[REQUEST], LONG_SIZE + 1)
  end

  -- As in a reply.
  local function holder(r)
    return ' ' .. int(r[TOKEN]) .. ' ' .. meta_of(r)
  end

  local function waiter_at(i)
    return s[QUEUE_APART] == 1 and others().waiter(i) or fetch(queue, i)
  end
