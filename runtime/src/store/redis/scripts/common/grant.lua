  -- What every operation does first and last.

  -- Whether the other keys hold what STATE says. A server that evicts, or somebody, may have removed one alone.
  local function is_whole()
    local many = held_by_many()
    return call('ZCARD', QUEUE) == s.waiting
      and call('HLEN', TICKETS) == s.waiting + (many and s.holders or 0)
      and (not many or call('ZCARD', HELD) == s.holders)
  end

  -- What stood in a list goes into the sets; the records follow at the end.
  local function spread()
    if s.waiting > 0 or held_by_many() then begin() end
    if s.waiting > 0 then call('ZADD', QUEUE, unpack(s.listed.queue)) end
    if held_by_many() then call('ZADD', HELD, unpack(s.listed.held)) end
    s.listed = nil
  end

  -- What every operation does first. With `renews` under a full memory too: that does not deny the ZREM (of
  -- nothing), and after one write it denies no other. `releasing` stays for now if it is a plain holder.
  function s.prune(renews, releasing)
    if renews then call('ZREM', HELD, '') end
    if s.listed then
      spread()
    elseif (s.waiting > 0 or held_by_many()) and not is_whole() then
      s.rare().mend()
    end
    -- Of signals, those are left that are there.
    if s.signals > 0 then s.signals = call('ZCARD', SIGNALS) end
    if now < s.clk then s.rare().step_back() end
    s.clk = now
    if s.tombs > 0 then
      call('ZREMRANGEBYSCORE', GONE, '-inf', int(now))
      if s.tombs <= now then s.tombs = 0 end
    end
    if s.due <= now or s.one and s.one_ends <= now then s.rare().scan(releasing) end
    forget()
  end

  local function tell(member, message, after)
    local name = string.sub(MAIN, 13, -2)
    return publish(member, message .. ' ' .. name .. (after or ''))
  end

  -- What a ticket would get as the first in the queue: a token, whether it joins others of its owner, and the number and
  -- the text of a signal (0: none). Nothing if it has to wait.
  local function offer(r)
    if r.owner ~= '' and s.owned > 0 then
      local _, units, token = s.owners().share(r.owner)
      if units and r.units <= units then return token, true, 0, '' end
    end
    local token = max(now, s.tok + 1)
    if r.takes == 1 and s.signals > 0 then return token, false, s.signal().first() end
    if s.used + r.units <= s.cap then return token, false, 0, '' end
  end

  local function take(ticket, r, hold, token, number, text)
    r.token, r.number, r.text = token, number, text
    if number > 0 then s.signal().take(number, text) end
    add_holder(ticket, now + hold * 1000)
    -- It may be the eldest only if it joins.
    if token <= s.tok then s.eldest = '' else s.tok = token end
  end

  -- Grants an offer to a waiter, unless it would not take it; `own` is the ticket that the reply reaches.
  local function give(member, own, ticket, r, token, joins, number, text)
    changed[ticket] = true
    local hold, flag = r.hold, 0
    if ticket ~= own then
      hold, flag = min(CLAIM_MS, r.hold), 1
      -- Only one that would keep everybody else waiting must have spoken of late.
      local alone = not joins and number == 0 and r.units == s.cap
      local silent = alone and r.member ~= member and now - max(r.heard, r.told) > CLAIM_MS * 1000
      local message = 'grant ' .. ticket .. ' ' .. int(token) .. ' ' .. int(r.counter) .. ' ' .. int(hold)
      if silent or tell(r.member, message, number > 0 and ' ' .. text) == 0 then
        r.told = 0
        return false
      end
    end
    r.flag = flag
    remove_waiter(ticket)
    take(ticket, r, hold, token, number, text)
    return true
  end

  local function first(count)
    return pairs_of(call('ZRANGE', QUEUE, 0, count - 1, 'WITHSCORES'))
  end

  -- What every operation of `member` does last; `own` is the ticket that its reply reaches.
  function s.grant(member, own)
    local owners = {}
    while not closed and s.waiting > 0 and (s.used < s.cap or s.signals > 0 or s.asking > 0 and s.owned > 0) do
      local ticket, place = first(1)()
      if not ticket then foreign('the queue is missing') end
      if place >= QUIET then break end
      local r = need(ticket)
      local token, joins, number, text = offer(r)
      if not token then break end
      if give(member, own, ticket, r, token, joins, number, text) then
        owners[#owners + 1] = r.owner
      else
        r.flag = 3
        call('ZADD', QUEUE, int(QUIET + r.place), ticket)
        moved = true
      end
    end
    if not closed and s.asking > 0 and s.owned > 0 then
      local r = own and s.record(own)
      if r then s.rare().let_in(member, own, r.owner) end
      for _, owner in ipairs(owners) do s.rare().let_in(member, own, owner) end
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
