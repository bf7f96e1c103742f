-- Put before every operation, after clock.lua. What all of them share once the short way at the top of an
-- operation does not apply. Nothing here is built before `open` is called: the short way stays short.
--
-- Keys of every operation, one name's, all with its hash tag:
--   1 auto_mutex:{name}          string: the state, in one of three forms
--       1 i <tok>                                  idle: nobody holds or waits
--       1 s <ticket> <heard> <hold_ms> <place_ms> <counter> <tok> <token> <units> <cap> <member> <meta>
--                                                  single: one plain holder until heard + hold_ms, no waiters
--       1 f <tok> <cap> <seq> <clk> <used> <tombs> full: the rest is in the other keys
--   2 auto_mutex:{name}:tickets  hash: ticket -> record
--   3 auto_mutex:{name}:held     sorted set: ticket -> end of its lease
--   4 auto_mutex:{name}:queue    sorted set: ticket -> place; of the quiet ones, place + 2^52
--   5 auto_mutex:{name}:waits    sorted set: ticket -> end of its place
--   6 auto_mutex:{name}:gone     sorted set: ticket -> end of its tombstone
-- `used` is the sum of the units held, `tombs` the end of the last tombstone (0: there is none).

-- Runs the long way; what is not ours is told as FOREIGN, with the same text on every version of the server.
local function guard(run)
  local ok, reply = pcall(run)
  if ok then return reply end
  local text = tostring(type(reply) == 'table' and reply.err or reply)
  if string.find(text, 'WRONGTYPE', 1, true) then
    text = 'FOREIGN a key of this name is of another type'
  end
  return redis.error_reply((string.gsub(text, '^%-', '')))
end

-- Reads the state as it is; changes nothing.
local function open(now)
  local call, format, match = redis.call, string.format, string.match
  local MAIN, TICKETS, HELD, QUEUE, WAITS, GONE = unpack(KEYS)
  local QUIET = 4503599627370496
  local CLAIM_MS, NEAR_MS, NEAR = 2000, 667, 3
  local TOMB_MS, KEPT_MS = 30000, 600000

  local s = {tok = 0, cap = 0, seq = 0, clk = 0, used = 0, tombs = 0}
  local records = {} -- ticket -> record; false: there is none
  local changed = {} -- ticket -> true

  local function int(number)
    return format('%.0f', number)
  end

  local function foreign(what)
    error('FOREIGN ' .. what, 0)
  end

  local function record_of(text)
    local place, units, hold, wait, counter, heard, told, token, flag, member, meta =
      match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([012]) (%S+) (.*)$')
    if not place then foreign('a record is unreadable') end
    return {
      place = tonumber(place), units = tonumber(units), hold = tonumber(hold), wait = tonumber(wait),
      counter = tonumber(counter), heard = tonumber(heard), told = tonumber(told),
      token = tonumber(token), flag = flag, member = member, meta = meta,
    }
  end

  local function text_of(r)
    return format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %s %s %s', r.place, r.units, r.hold, r.wait,
      r.counter, r.heard, r.told, r.token, r.flag, r.member, r.meta)
  end

  -- The record of a ticket, or false. Its token is 0 exactly while it waits.
  function s.record(ticket)
    local r = records[ticket]
    if r == nil then
      local text = call('HGET', TICKETS, ticket)
      r = text and record_of(text)
      records[ticket] = r
    end
    return r
  end

  -- The record of a ticket that a set names.
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

  local function read()
    local text = call('GET', MAIN)
    if not text then return end
    local form, rest = match(text, '^1 (%l) (.*)$')
    s.form = form
    if form == 'i' then
      s.tok = tonumber(match(rest, '^%d+$'))
    elseif form == 's' then
      local ticket, heard, hold, wait, counter, tok, token, units, cap, member, meta =
        match(rest, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$')
      if tok then
        s.tok, s.cap, s.clk, s.used = tonumber(tok), tonumber(cap), tonumber(heard), tonumber(units)
        s.single = ticket
        records[ticket] = {
          place = 0, units = s.used, hold = tonumber(hold), wait = tonumber(wait),
          counter = tonumber(counter), heard = s.clk, told = 0, token = tonumber(token), flag = '0',
          member = member, meta = meta,
        }
        s.single_until = s.clk + records[ticket].hold * 1000
      else
        s.tok = nil
      end
    elseif form == 'f' then
      local tok, cap, seq, clk, used, tombs =
        match(rest, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
      s.tok, s.cap, s.seq = tonumber(tok), tonumber(cap), tonumber(seq)
      s.clk, s.used, s.tombs = tonumber(clk), tonumber(used), tonumber(tombs)
    else
      s.tok = nil
    end
    if not s.tok then foreign('the key holds something else') end
  end

  -- Everything in the other keys, as the full form has it.
  local function spread()
    if s.form == 'f' then return end
    if call('EXISTS', TICKETS, HELD, QUEUE, WAITS) > 0 then
      -- Somebody removed the first key alone; what it belonged to is over.
      call('HLEN', TICKETS)
      call('ZCARD', HELD)
      call('ZCARD', QUEUE)
      call('ZCARD', WAITS)
      call('DEL', TICKETS, HELD, QUEUE, WAITS)
    end
    if s.single then
      call('ZADD', HELD, int(s.single_until), s.single)
      changed[s.single] = true
    end
  end

  local function drop(ticket)
    records[ticket] = false
    changed[ticket] = true
  end

  function s.drop_holder(ticket)
    call('ZREM', HELD, ticket)
    s.used = math.max(0, s.used - need(ticket).units)
    drop(ticket)
  end

  function s.drop_waiter(ticket)
    call('ZREM', QUEUE, ticket)
    call('ZREM', WAITS, ticket)
    drop(ticket)
  end

  local function hold_until(ticket, ends)
    call('ZADD', HELD, int(ends), ticket)
  end

  local function wait_until(ticket, ends)
    call('ZADD', WAITS, int(ends), ticket)
  end

  local function to_quiet(ticket, r)
    r.told = 0
    changed[ticket] = true
    call('ZADD', QUEUE, int(QUIET + r.place), ticket)
  end

  -- The clock was stepped back: nothing may last longer than if it were set now.
  local function step_back()
    local function clamp(key, span)
      for ticket, ends in pairs_of(call('ZRANGE', key, 0, -1, 'WITHSCORES')) do
        local latest = now + span(ticket) * 1000
        if ends > latest then call('ZADD', key, int(latest), ticket) end
      end
    end
    local function speak(ticket)
      local r = need(ticket)
      r.heard, r.told = math.min(r.heard, now), math.min(r.told, now)
      changed[ticket] = true
      return r
    end
    clamp(HELD, function(ticket) return speak(ticket).hold end)
    clamp(WAITS, function(ticket) return speak(ticket).wait end)
    clamp(GONE, function() return TOMB_MS end)
    s.tombs = math.min(s.tombs, now + TOMB_MS * 1000)
  end

  function s.forget()
    if call('EXISTS', HELD, QUEUE) == 0 then
      s.cap, s.seq, s.used = 0, 0, 0
    end
  end

  -- What every operation does first. A full memory does not deny the ZREM (of nothing), and after one
  -- write it denies no other.
  function s.prune()
    call('ZREM', HELD, '')
    spread()
    if now < s.clk then step_back() end
    s.clk = now
    if s.tombs > 0 then
      call('ZREMRANGEBYSCORE', GONE, '-inf', int(now))
      if s.tombs <= now then s.tombs = 0 end
    end
    for _, ticket in ipairs(call('ZRANGEBYSCORE', HELD, '-inf', int(now))) do
      local r = need(ticket)
      local place_ends = r.heard + r.wait * 1000
      if r.flag == '1' and place_ends > now then
        call('ZREM', HELD, ticket)
        s.used = math.max(0, s.used - r.units)
        r.flag, r.token = '0', 0
        to_quiet(ticket, r)
        wait_until(ticket, place_ends)
      else
        s.drop_holder(ticket)
      end
    end
    for _, ticket in ipairs(call('ZRANGEBYSCORE', WAITS, '-inf', int(now))) do
      s.drop_waiter(ticket)
    end
    s.forget()
  end

  local function tell(member, message)
    local name = string.sub(MAIN, 13, -2)
    return call('PUBLISH', 'auto_mutex:member:' .. member, message .. ' ' .. name)
  end

  -- What every operation of `member` does last; `own` is the ticket that its reply reaches.
  function s.grant(member, own)
    local waiting = true
    while waiting do
      local ticket, place = pairs_of(call('ZRANGE', QUEUE, 0, 0, 'WITHSCORES'))()
      waiting = ticket and place < QUIET
      if not waiting then break end
      local r = need(ticket)
      if s.used + r.units > s.cap then break end
      local token = math.max(now, s.tok + 1)
      local hold = r.hold
      local granted = true
      if ticket ~= own then
        hold = math.min(CLAIM_MS, hold)
        granted = (r.member == member or now - math.max(r.heard, r.told) <= CLAIM_MS * 1000)
          and tell(r.member, format('grant %s %.0f %.0f %.0f', ticket, token, r.counter, hold)) > 0
      end
      if granted then
        r.flag = ticket == own and '0' or '1'
        r.token, s.tok = token, token
        s.used = s.used + r.units
        changed[ticket] = true
        call('ZREM', QUEUE, ticket)
        call('ZREM', WAITS, ticket)
        hold_until(ticket, now + hold * 1000)
      else
        to_quiet(ticket, r)
      end
    end
    if waiting then
      for ticket, place in pairs_of(call('ZRANGE', QUEUE, 0, NEAR - 1, 'WITHSCORES')) do
        local r = place < QUIET and need(ticket)
        if r and r.told == 0 then
          r.told = now
          changed[ticket] = true
          if ticket ~= own then tell(r.member, 'near ' .. ticket) end
        end
      end
    end
    s.forget()
  end

  -- A new ticket, at the end of the queue.
  function s.enter(ticket, r)
    s.seq = s.seq + 1
    r.place, r.heard, r.told, r.token, r.flag = s.seq, now, 0, 0, '0'
    records[ticket] = r
    changed[ticket] = true
    call('ZADD', QUEUE, int(r.place), ticket)
    wait_until(ticket, now + r.wait * 1000)
  end

  -- A known ticket spoke; false if it is not known or only parked.
  function s.hear(ticket, counter, hold, wait)
    local r = s.record(ticket)
    if not r or r.flag == '2' then return false end
    r.counter = math.max(r.counter, tonumber(counter))
    r.heard, r.hold, r.wait = now, tonumber(hold), tonumber(wait)
    changed[ticket] = true
    if r.token > 0 then
      r.flag = '0'
      hold_until(ticket, now + r.hold * 1000)
    else
      call('ZADD', QUEUE, int(r.place), ticket)
      wait_until(ticket, now + r.wait * 1000)
    end
    return true
  end

  -- The holder stays, held by nobody.
  function s.park(ticket, park)
    local r = need(ticket)
    r.flag, r.hold = '2', tonumber(park)
    changed[ticket] = true
    hold_until(ticket, now + r.hold * 1000)
  end

  function s.bury(ticket)
    s.tombs = now + TOMB_MS * 1000
    call('ZADD', GONE, int(s.tombs), ticket)
  end

  function s.is_buried(ticket)
    return s.tombs > 0 and call('ZSCORE', GONE, ticket)
  end

  -- Drops all holders and tells them.
  function s.drop_all()
    local tickets = call('ZRANGE', HELD, 0, -1)
    for _, ticket in ipairs(tickets) do
      tell(need(ticket).member, 'lost ' .. ticket)
      s.drop_holder(ticket)
    end
    return #tickets
  end

  -- Token and meta of the one that has held for the longest; empty strings if nobody does.
  function s.holder()
    local first
    for _, ticket in ipairs(call('ZRANGE', HELD, 0, -1)) do
      local r = need(ticket)
      if not first or r.token < first.token then first = r end
    end
    if not first then return '', '' end
    return int(first.token), first.meta
  end

  -- The reply to a ticket that is known.
  function s.standing(ticket)
    local r = need(ticket)
    if r.token > 0 then return 'GRANTED ' .. int(r.token) end
    local position = (call('ZRANK', QUEUE, ticket) or foreign('a waiter is in no queue')) + 1
    local again = math.floor(r.wait / 3)
    if position <= NEAR then
      local _, ends = pairs_of(call('ZRANGE', HELD, 0, 0, 'WITHSCORES'))()
      again = ends and math.min(NEAR_MS, math.ceil((ends - now) / 1000) + 1) or NEAR_MS
    end
    return {'QUEUED', position, math.max(1, again), s.holder()}
  end

  -- Writes what changed; every key gets its time to live.
  function s.close()
    local drops, keeps = {'HDEL', TICKETS}, {'HSET', TICKETS}
    for ticket in pairs(changed) do
      local r = records[ticket]
      if r then
        keeps[#keeps + 1] = ticket
        keeps[#keeps + 1] = text_of(r)
      else
        drops[#drops + 1] = ticket
      end
    end
    for _, command in ipairs({drops, keeps}) do
      -- Not too many at once for unpack.
      for first = 3, #command, 1000 do
        call(command[1], command[2], unpack(command, first, math.min(first + 999, #command)))
      end
    end
    local _, last = pairs_of(call('ZRANGE', HELD, -1, -1, 'WITHSCORES'))()
    local ttl = KEPT_MS
    if last and last > now then ttl = ttl + math.ceil((last - now) / 1000) end
    if s.cap > 0 or s.tombs > 0 then
      local text = format('1 f %.0f %.0f %.0f %.0f %.0f %.0f', s.tok, s.cap, s.seq, s.clk, s.used, s.tombs)
      call('SET', MAIN, text, 'PX', ttl)
      call('PEXPIRE', TICKETS, ttl)
      call('PEXPIRE', HELD, ttl)
      call('PEXPIRE', QUEUE, ttl)
      call('PEXPIRE', WAITS, ttl)
      if s.tombs > 0 then call('PEXPIRE', GONE, TOMB_MS) end
    elseif s.tok > 0 then
      call('SET', MAIN, '1 i ' .. int(s.tok), 'PX', ttl)
    end
  end

  -- Holders (in order of token) and waiters (of place) whose time has not ended, each as
  -- {ticket, member, units, token, meta, microseconds left, parked}.
  function s.list()
    local function describe(found, ticket, ends)
      if ends > now then
        local r = need(ticket)
        found[#found + 1] = {ticket, r.member, r.units, int(r.token), r.meta, int(ends - now), r.flag == "2" and 1 or 0}
      end
    end
    local function by(field)
      return function(a, b) return s.record(a[1])[field] < s.record(b[1])[field] end
    end
    local holders, waiters = {}, {}
    if s.single then
      describe(holders, s.single, s.single_until)
    elseif s.form == 'f' then
      for ticket, ends in pairs_of(call('ZRANGE', HELD, 0, -1, 'WITHSCORES')) do
        describe(holders, ticket, ends)
      end
      for ticket, ends in pairs_of(call('ZRANGE', WAITS, 0, -1, 'WITHSCORES')) do
        describe(waiters, ticket, ends)
      end
      table.sort(holders, by('token'))
      table.sort(waiters, by('place'))
    end
    return holders, waiters
  end

  read()
  return s
end
