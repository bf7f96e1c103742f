-- Put before every operation, after clock.lua. What all of them share once the short way at the top of an
-- operation does not apply. Nothing here is built before `open` is called: the short way stays short.
--
-- Keys of every operation, one name's, all with its hash tag:
--   1 auto_mutex:{name}          string: the state, in one of three forms
--       1 i <tok>                idle: nobody holds or waits
--       1 s <ticket> <heard> <hold_ms> <place_ms> <counter> <tok> <token> <units> <cap> <member> <meta>
--                                single: one plain holder until heard + hold_ms, nobody waits
--       1 f STATE                full: the rest is in the other keys
--   2 auto_mutex:{name}:tickets  hash: ticket -> record, of waiters, and of holders unless there is just one
--   3 auto_mutex:{name}:held     sorted set: ticket -> end of its lease, unless there is just one
--   4 auto_mutex:{name}:queue    sorted set: ticket -> place; of the quiet ones, place + 2^52
--   5 auto_mutex:{name}:gone     sorted set: ticket -> end of its tombstone
--
-- Only the first two forms are text: they are what most locks are most of the time. STATE is, as doubles, tok cap seq
-- clk used tombs holders waiting due expires told, and, if there is just one holder, its ticket, the end of its
-- lease and its record. A record is, as doubles, place units hold_ms place_ms counter heard told token flag, and two
-- strings, member and meta. (Doubles hold microseconds exactly, and to read and write them as text would take most
-- of the time of an operation.)
--
-- A place ends at heard + place_ms of its record. In STATE: `used` units are held by `holders`; `waiting`
-- are in the queue, quiet ones too; tombstones end at `tombs` at the latest (0: there are none); nothing in the
-- sorted set and no place ends before `due`; the other keys live until `expires` at least; who waits at a place up
-- to `told` and is not quiet was told that it is near (0: look again).

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

-- Reads the state, given the text of the first key; changes nothing.
local function open(now, state)
  local call, match, max, min, pack, unpack_struct =
    redis.call, string.match, math.max, math.min, struct.pack, struct.unpack
  local MAIN, TICKETS, HELD, QUEUE, GONE = unpack(KEYS)
  local QUIET, FAR = 4503599627370496, 9007199254740992
  local CLAIM_MS, NEAR_MS, NEAR = 2000, 667, 3
  local TOMB_MS, KEPT_MS, LONGEST_LEASE_MS = 30000, 600000, 30000

  -- All fields at once, so that the table is made in its final size.
  local s = {tok = 0, cap = 0, seq = 0, clk = 0, used = 0, tombs = 0, holders = 0, waiting = 0, due = FAR,
    expires = 0, told = 0, one = nil, one_ends = nil, record = nil, prune = nil, grant = nil, enter = nil, hear = nil,
    standing = nil, close = nil, drop_holder = nil, drop_waiter = nil, rare = nil}
  local records = {} -- ticket -> record; false: there is none
  local stored = {}  -- tickets with a record in the hash
  local changed = {} -- tickets whose record there is to be written or removed
  local moved = false -- who is among the first may have changed

  local function foreign(what)
    error('FOREIGN ' .. what, 0)
  end

  -- Records

  -- Flags: 0 plain, 1 provisional, 2 parked, 3 a quiet waiter. The token is 0 exactly while it waits.
  local STATE, ONE, RECORD = '<ddddddddddd', '<sd', '<dddddddddss'

  local function record_of(place, units, hold, wait, counter, heard, told, token, flag, member, meta)
    local sum = place + units + hold + wait + counter + heard + told + token
    if not (sum >= 0 and sum <= 8 * FAR) then foreign('a record is unreadable') end
    return {
      place = place, units = units, hold = hold, wait = wait, counter = counter, heard = heard, told = told,
      token = token, flag = flag, member = member, meta = meta,
    }
  end

  local function text_of(r)
    return pack(RECORD, r.place, r.units, r.hold, r.wait, r.counter, r.heard, r.told, r.token, r.flag, r.member,
      r.meta)
  end

  local function held_by_many()
    return s.holders > 0 and not s.one
  end

  -- The record of a ticket, or false.
  function s.record(ticket)
    local r = records[ticket]
    if r == nil then
      local text = (s.waiting > 0 or held_by_many()) and call('HGET', TICKETS, ticket)
      stored[ticket] = text and true
      r = text and record_of(unpack_struct(RECORD, text))
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

  -- Holders: the only one is part of the first key; more are in the sorted set.

  -- Before the first entry in any of the other keys.
  local function begin()
    if call('EXISTS', TICKETS, HELD, QUEUE) > 0 then s.rare().clear() end
  end

  local function to_set(ticket, ends)
    call('ZADD', HELD, int(ends), ticket)
    s.due = min(s.due, ends)
  end

  local function hold_until(ticket, ends)
    if ticket == s.one then s.one_ends = ends else to_set(ticket, ends) end
  end

  local function add_holder(ticket, ends)
    local r = need(ticket)
    if s.holders == 0 then
      s.one, s.one_ends = ticket, ends
    else
      if s.one then
        if s.waiting == 0 then begin() end
        to_set(s.one, s.one_ends)
        changed[s.one] = true
        s.one = nil
        s.expires = 0
      end
      to_set(ticket, ends)
    end
    changed[ticket] = true
    s.holders, s.used = s.holders + 1, s.used + r.units
  end

  local function remove_holder(ticket)
    if ticket == s.one then s.one = nil else call('ZREM', HELD, ticket) end
    s.holders, s.used = max(0, s.holders - 1), max(0, s.used - need(ticket).units)
  end

  local function drop(ticket)
    records[ticket] = false
    changed[ticket] = true
  end

  function s.drop_holder(ticket)
    remove_holder(ticket)
    drop(ticket)
  end

  -- Waiters

  local function place_ends(r)
    return r.heard + r.wait * 1000
  end

  local function add_waiter(ticket, score)
    if s.waiting == 0 then
      if not held_by_many() then begin() end
      s.expires = 0
    end
    local r = need(ticket)
    call('ZADD', QUEUE, int(score), ticket)
    s.waiting = s.waiting + 1
    s.due = min(s.due, place_ends(r))
    changed[ticket] = true
    moved = true
  end

  local function remove_waiter(ticket)
    call('ZREM', QUEUE, ticket)
    s.waiting = max(0, s.waiting - 1)
    moved = true
  end

  function s.drop_waiter(ticket)
    remove_waiter(ticket)
    drop(ticket)
  end

  local function forget()
    if s.holders == 0 and s.waiting == 0 then
      s.cap, s.seq, s.used, s.told, s.due = 0, 0, 0, 0, FAR
    end
  end

  -- First

  -- Whether the other keys hold what STATE says. A server that evicts, or somebody, may have removed one alone.
  local function is_whole()
    local many = held_by_many()
    return call('ZCARD', QUEUE) == s.waiting
      and call('HLEN', TICKETS) == s.waiting + (many and s.holders or 0)
      and (not many or call('ZCARD', HELD) == s.holders)
  end

  -- What every operation does first. With `renews` under a full memory too: that does not deny the ZREM (of
  -- nothing), and after one write it denies no other.
  function s.prune(renews)
    if renews then call('ZREM', HELD, '') end
    if (s.waiting > 0 or held_by_many()) and not is_whole() then s.rare().mend() end
    if now < s.clk then s.rare().step_back() end
    s.clk = now
    if s.tombs > 0 then
      call('ZREMRANGEBYSCORE', GONE, '-inf', int(now))
      if s.tombs <= now then s.tombs = 0 end
    end
    if s.due <= now or s.one and s.one_ends <= now then s.rare().scan() end
    forget()
  end

  -- Last

  local function tell(member, message)
    local name = string.sub(MAIN, 13, -2)
    return call('PUBLISH', 'auto_mutex:member:' .. member, message .. ' ' .. name)
  end

  -- Whether a waiter other than the one that asks will take a grant.
  local function takes(ticket, r, member, token, hold)
    return (r.member == member or now - max(r.heard, r.told) <= CLAIM_MS * 1000)
      and tell(r.member, 'grant ' .. ticket .. ' ' .. int(token) .. ' ' .. int(r.counter) .. ' ' .. int(hold)) > 0
  end

  local function first(count)
    return pairs_of(call('ZRANGE', QUEUE, 0, count - 1, 'WITHSCORES'))
  end

  -- What every operation of `member` does last; `own` is the ticket that its reply reaches.
  function s.grant(member, own)
    while s.waiting > 0 and s.used < s.cap do
      local ticket, place = first(1)()
      if not ticket then foreign('the queue is missing') end
      if place >= QUIET then break end
      local r = need(ticket)
      if s.used + r.units > s.cap then break end
      local token = max(now, s.tok + 1)
      local hold = ticket == own and r.hold or min(CLAIM_MS, r.hold)
      changed[ticket] = true
      if ticket == own or takes(ticket, r, member, token, hold) then
        r.flag = ticket == own and 0 or 1
        r.token, s.tok = token, token
        remove_waiter(ticket)
        add_holder(ticket, now + hold * 1000)
      else
        r.flag, r.told = 3, 0
        call('ZADD', QUEUE, int(QUIET + r.place), ticket)
        moved = true
      end
    end
    if moved and s.waiting > 0 then
      for ticket, place in first(NEAR) do
        if place > s.told and place < QUIET then
          local r = need(ticket)
          if r.told == 0 then
            r.told = now
            changed[ticket] = true
            if ticket ~= own then tell(r.member, 'near ' .. ticket) end
          end
          s.told = place
        end
      end
    end
    moved = false
    forget()
  end

  -- Steps of the operations

  -- A new ticket, at the end of the queue.
  function s.enter(ticket, r)
    s.seq = s.seq + 1
    r.place, r.heard, r.told, r.token, r.flag = s.seq, now, 0, 0, 0
    records[ticket] = r
    if s.waiting == 0 and s.used + r.units <= s.cap then
      -- Granted at once, so it never waits.
      r.token = max(now, s.tok + 1)
      s.tok = r.token
      add_holder(ticket, now + r.hold * 1000)
    else
      add_waiter(ticket, r.place)
    end
  end

  -- A known ticket spoke; false if it is not known or only parked.
  function s.hear(ticket, counter, hold, wait)
    local r = s.record(ticket)
    if not r or r.flag == 2 then return false end
    r.counter = max(r.counter, tonumber(counter))
    r.heard, r.hold, r.wait = now, tonumber(hold), tonumber(wait)
    changed[ticket] = true
    if r.token > 0 then
      r.flag = 0
      hold_until(ticket, now + r.hold * 1000)
    else
      s.due = min(s.due, place_ends(r))
      if r.flag == 3 then
        r.flag = 0
        call('ZADD', QUEUE, int(r.place), ticket)
        s.told = min(s.told, r.place - 1)
        moved = true
      end
    end
    return true
  end

  -- The reply to a ticket that is known.
  function s.standing(ticket)
    local r = need(ticket)
    if r.token > 0 then return 'GRANTED ' .. int(r.token) end
    local position = (call('ZRANK', QUEUE, ticket) or foreign('the queue is missing')) + 1
    local again = math.floor(r.wait / 3)
    if position <= NEAR then
      local ends = s.one and s.one_ends
      if held_by_many() then
        local _
        _, ends = pairs_of(call('ZRANGE', HELD, 0, 0, 'WITHSCORES'))()
      end
      again = ends and min(NEAR_MS, math.ceil((ends - now) / 1000) + 1) or NEAR_MS
    end
    local eldest = s.one and need(s.one) or held_by_many() and s.rare().eldest()
    if not eldest then return {'QUEUED', position, max(1, again), '', ''} end
    return {'QUEUED', position, max(1, again), int(eldest.token), eldest.meta}
  end

  -- What is seldom needed; built only then.
  local built
  function s.rare()
    if built then return built end
    local x = {}
    built = x

    -- Reads many at once.
    local function need_all(tickets)
      for first = 1, #tickets, 1000 do
        local last = min(first + 999, #tickets)
        local texts = call('HMGET', TICKETS, unpack(tickets, first, last))
        for i = first, last do
          local ticket, text = tickets[i], texts[i - first + 1]
          if records[ticket] == nil and text then
            stored[ticket] = true
            records[ticket] = record_of(unpack_struct(RECORD, text))
          end
          need(ticket)
        end
      end
      return tickets
    end

    local function held_ends()
      return pairs_of(call('ZRANGE', HELD, 0, -1, 'WITHSCORES'))
    end

    -- What somebody left who removed the first key alone: it is over.
    function x.clear()
      call('HLEN', TICKETS)
      call('ZCARD', HELD)
      call('ZCARD', QUEUE)
      call('DEL', TICKETS, HELD, QUEUE)
    end

    -- A part of the state is missing. The only holder is in the first key, so it is known and stays; who waits asks
    -- anew. Of many holders nobody knows which: the name is closed until the longest lease has ended since.
    function x.mend()
      if held_by_many() then
        if now >= s.clk and now < s.clk + LONGEST_LEASE_MS * 1000 then foreign('a part of the state is missing') end
        s.holders, s.used = 0, 0
      end
      x.clear()
      s.waiting, s.told, s.expires, s.due = 0, 0, 0, FAR
    end

    -- The clock was stepped back: nothing may last longer than if it were set now.
    function x.step_back()
      local function speak(ticket)
        local r = need(ticket)
        r.heard, r.told = min(r.heard, now), min(r.told, now)
        changed[ticket] = true
        return r
      end
      if s.one then
        s.one_ends = min(s.one_ends, now + speak(s.one).hold * 1000)
      elseif s.holders > 0 then
        for ticket, ends in held_ends() do
          local latest = now + speak(ticket).hold * 1000
          if ends > latest then call('ZADD', HELD, int(latest), ticket) end
        end
      end
      if s.waiting > 0 then
        for _, ticket in ipairs(need_all(call('ZRANGE', QUEUE, 0, -1))) do speak(ticket) end
      end
      if s.tombs > 0 then
        local latest = now + TOMB_MS * 1000
        for ticket, ends in pairs_of(call('ZRANGE', GONE, 0, -1, 'WITHSCORES')) do
          if ends > latest then call('ZADD', GONE, int(latest), ticket) end
        end
        s.tombs = min(s.tombs, latest)
      end
      s.due = 0
    end

    local function end_lease(ticket)
      local r = need(ticket)
      if r.flag == 1 and place_ends(r) > now then
        remove_holder(ticket)
        r.flag, r.told, r.token = 3, 0, 0
        add_waiter(ticket, QUIET + r.place)
      else
        s.drop_holder(ticket)
      end
    end

    -- Something may have ended.
    function x.scan()
      if s.one and s.one_ends <= now then end_lease(s.one) end
      if s.due <= now then
        s.due = FAR
        if held_by_many() then
          for ticket, ends in held_ends() do
            if ends <= now then end_lease(ticket) else s.due = min(s.due, ends) end
          end
        end
        if s.waiting > 0 then
          for _, ticket in ipairs(need_all(call('ZRANGE', QUEUE, 0, -1))) do
            local ends = place_ends(need(ticket))
            if ends <= now then s.drop_waiter(ticket) else s.due = min(s.due, ends) end
          end
        end
      end
    end

    -- The holder stays, held by nobody.
    function x.park(ticket, park)
      local r = need(ticket)
      r.flag, r.hold = 2, tonumber(park)
      changed[ticket] = true
      hold_until(ticket, now + r.hold * 1000)
    end

    -- The holder `old` becomes `ticket`, at the same place and with the same units.
    function x.swap(old, ticket, r)
      local before = s.record(old)
      if not before or before.token == 0 or before.flag == 2 then return false end
      r.place, r.units, r.heard, r.told, r.flag = before.place, before.units, now, 0, 0
      r.token = max(now, s.tok + 1)
      s.tok = r.token
      s.drop_holder(old)
      records[ticket] = r
      add_holder(ticket, now + r.hold * 1000)
      return true
    end

    function x.bury(ticket)
      s.tombs = now + TOMB_MS * 1000
      call('ZADD', GONE, int(s.tombs), ticket)
    end

    function x.is_buried(ticket)
      return call('ZSCORE', GONE, ticket)
    end

    -- Drops all holders and tells them.
    function x.drop_all()
      local tickets = {s.one}
      if held_by_many() then tickets = call('ZRANGE', HELD, 0, -1) end
      for _, ticket in ipairs(tickets) do
        tell(need(ticket).member, 'lost ' .. ticket)
        s.drop_holder(ticket)
      end
      return #tickets
    end

    -- A waiter leaves after all.
    function x.withdraw(ticket)
      s.drop_waiter(ticket)
      forget()
    end

    -- The record of the one of many that has held for the longest.
    function x.eldest()
      local eldest
      for _, ticket in ipairs(need_all(call('ZRANGE', HELD, 0, -1))) do
        local r = need(ticket)
        if not eldest or r.token < eldest.token then eldest = r end
      end
      return eldest
    end

    -- Holders (in order of token) and waiters (of place) whose time has not ended, each as
    -- {ticket, member, units, token, meta, microseconds left, parked}.
    function x.list()
      local holders, waiters = {}, {}
      local function describe(found, ticket, ends)
        local r = need(ticket)
        if ends > now then
          found[#found + 1] = {ticket, r.member, r.units, int(r.token), r.meta, int(ends - now),
            r.flag == 2 and 1 or 0}
        end
      end
      local function by(field)
        return function(a, b) return need(a[1])[field] < need(b[1])[field] end
      end
      if s.one then describe(holders, s.one, s.one_ends) end
      if held_by_many() then
        for ticket, ends in held_ends() do describe(holders, ticket, ends) end
        table.sort(holders, by('token'))
      end
      if s.waiting > 0 then
        for _, ticket in ipairs(need_all(call('ZRANGE', QUEUE, 0, -1))) do
          describe(waiters, ticket, place_ends(need(ticket)))
        end
        table.sort(waiters, by('place'))
      end
      return holders, waiters
    end

    return x
  end

  -- Writing

  local function write_records()
    local drops, keeps = {}, {}
    for ticket in pairs(changed) do
      local r = records[ticket]
      if r and ticket ~= s.one then
        keeps[#keeps + 1] = ticket
        keeps[#keeps + 1] = text_of(r)
      elseif stored[ticket] then
        drops[#drops + 1] = ticket
      end
    end
    -- Not too many at once for unpack; and first what stays, or the hash might go and come without its time to live.
    for i = 1, #keeps, 1000 do call('HSET', TICKETS, unpack(keeps, i, min(i + 999, #keeps))) end
    for i = 1, #drops, 1000 do call('HDEL', TICKETS, unpack(drops, i, min(i + 999, #drops))) end
  end

  -- Writes what changed; every key gets its time to live.
  function s.close()
    write_records()
    -- Not looked at by this operation, so by the next one.
    if moved then s.told = 0 end
    local last = s.one and s.one_ends or now
    if held_by_many() then
      local _
      _, last = pairs_of(call('ZRANGE', HELD, -1, -1, 'WITHSCORES'))()
    end
    local ttl = KEPT_MS + max(0, math.ceil(((last or now) - now) / 1000))
    if s.waiting > 0 or held_by_many() then
      -- Longer than needed, so that it is not needed each time.
      if s.expires < now + ttl * 1000 then
        local long = ttl + KEPT_MS
        call('PEXPIRE', TICKETS, long)
        call('PEXPIRE', HELD, long)
        call('PEXPIRE', QUEUE, long)
        s.expires = now + long * 1000
      end
    else
      s.expires = 0
    end
    if s.tombs > 0 then call('PEXPIRE', GONE, TOMB_MS) end
    local text
    local r = s.one and need(s.one)
    if s.cap == 0 and s.tombs == 0 then
      if s.tok == 0 then return end
      text = '1 i ' .. int(s.tok)
    elseif r and s.waiting == 0 and s.tombs == 0 and r.flag == 0 and s.one_ends == r.heard + r.hold * 1000 then
      text = '1 s ' .. s.one .. ' ' .. int(r.heard) .. ' ' .. int(r.hold) .. ' ' .. int(r.wait) .. ' '
        .. int(r.counter) .. ' ' .. int(s.tok) .. ' ' .. int(r.token) .. ' ' .. int(r.units) .. ' '
        .. int(s.cap) .. ' ' .. r.member .. ' ' .. r.meta
    else
      text = '1 f ' .. pack(STATE, s.tok, s.cap, s.seq, s.clk, s.used, s.tombs, s.holders, s.waiting, s.due,
        s.expires, s.told)
      if r then text = text .. pack(ONE, s.one, s.one_ends) .. text_of(r) end
    end
    call('SET', MAIN, text, 'PX', ttl)
  end

  -- Reading

  local function read_single(ticket, heard, hold, wait, counter, tok, token, units, cap, member, meta)
    if not ticket then return end
    local r = record_of(0, tonumber(units), tonumber(hold), tonumber(wait), tonumber(counter), tonumber(heard), 0,
      tonumber(token), 0, member, meta)
    records[ticket] = r
    s.tok, s.cap, s.clk, s.used = tonumber(tok), tonumber(cap), r.heard, r.units
    s.holders, s.one, s.one_ends = 1, ticket, r.heard + r.hold * 1000
    return true
  end

  local function read_full()
    local next
    s.tok, s.cap, s.seq, s.clk, s.used, s.tombs, s.holders, s.waiting, s.due, s.expires, s.told, next =
      unpack_struct(STATE, state, 5)
    if next <= #state then
      s.one, s.one_ends, next = unpack_struct(ONE, state, next)
      records[s.one] = record_of(unpack_struct(RECORD, state, next))
    end
    moved = s.told == 0
    return s.tok < FAR and s.tok + s.cap + s.seq + s.clk + s.used + s.tombs + s.holders + s.waiting + s.due + s.expires
      + s.told <= 10 * FAR
  end

  if state then
    local form = match(state, '^1 (%l) ')
    local ours
    if form == 'f' then
      ours = read_full()
    elseif form == 's' then
      ours = read_single(match(state,
        '^1 s (%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$'))
    elseif form == 'i' then
      ours = match(state, '^1 i (%d+)$')
      s.tok = tonumber(ours)
    end
    ours = ours and s.tok < FAR
    if not ours then foreign('the key holds something else') end
  end
  return s
end
