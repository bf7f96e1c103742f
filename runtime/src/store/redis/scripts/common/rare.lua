  -- What is seldom needed; built only then.

  local rare
  function s.rare()
    if rare then return rare end
    local x = {}
    rare = x

    -- Reads many at once.
    function x.need_all(tickets)
      for first = 1, #tickets, 1000 do
        local last = min(first + 999, #tickets)
        local texts = call('HMGET', TICKETS, unpack(tickets, first, last))
        for i = first, last do
          local ticket, text = tickets[i], texts[i - first + 1]
          if records[ticket] == nil and text then
            stored[ticket] = true
            records[ticket] = read_record(text, 1)
          end
          need(ticket)
        end
      end
      return tickets
    end

    local function tickets_of(list)
      local tickets = {}
      for i = 2, #list, 2 do tickets[i / 2] = list[i] end
      return tickets
    end

    local function held_ends()
      return pairs_of(call('ZRANGE', HELD, 0, -1, 'WITHSCORES'))
    end

    -- Ticket -> end of its lease.
    function x.leases()
      if s.one then return {[s.one] = s.one_ends} end
      local leases = {}
      if s.listed then
        for i = 2, #s.listed.held, 2 do leases[s.listed.held[i]] = tonumber(s.listed.held[i - 1]) end
      else
        for ticket, ends in held_ends() do leases[ticket] = ends end
      end
      return leases
    end

    function x.waiters()
      if s.listed then return tickets_of(s.listed.queue) end
      return x.need_all(call('ZRANGE', QUEUE, 0, -1))
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
        s.holders, s.used, s.lent, s.owned, s.eldest = 0, 0, 0, 0, ''
      end
      x.clear()
      s.waiting, s.asking, s.told, s.expires, s.due = 0, 0, 0, 0, FAR
    end

    -- The clock was stepped back: nothing may last longer than if it were set now.
    function x.step_back()
      local function speak(ticket)
        local r = need(ticket)
        r.heard, r.told = min(r.heard, now), min(r.told, now)
        changed[ticket] = true
        return r
      end
      local function longest(ticket)
        local r = speak(ticket)
        return now + (r.flag == 1 and min(CLAIM_MS, r.hold) or r.hold) * 1000
      end
      if s.one then
        s.one_ends = min(s.one_ends, longest(s.one))
      elseif s.holders > 0 then
        for ticket, ends in held_ends() do
          local latest = longest(ticket)
          if ends > latest then call('ZADD', HELD, int(latest), ticket) end
        end
      end
      if s.waiting > 0 then
        for _, ticket in ipairs(x.waiters()) do speak(ticket) end
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

    function x.end_lease(ticket, ends, releasing)
      local r = need(ticket)
      if ticket == releasing and r.flag == 0 then return end
      if r.flag ~= 1 or place_ends(r) <= now then return s.drop_holder(ticket, true) end
      remove_holder(ticket)
      -- What it could not claim, since it takes the store for closed, is a signal that came before others began to wait.
      local waits = r.number > 0 and r.heard > ends - min(CLAIM_MS, r.hold) * 1000
      if r.number > 0 then s.signal().put(r.number, r.text) end
      r.flag, r.told, r.token, r.number, r.text = waits and 0 or 3, 0, 0, 0, ''
      add_waiter(ticket, waits and r.place or QUIET + r.place)
      if waits then s.told = min(s.told, r.place - 1) end
    end

    -- Something may have ended.
    function x.scan(releasing)
      local all = s.due <= now
      if all then s.due = FAR end
      if s.one and s.one_ends <= now then x.end_lease(s.one, s.one_ends, releasing) end
      if all and held_by_many() then
        for ticket, ends in held_ends() do
          if ends <= now then x.end_lease(ticket, ends, releasing) else s.due = min(s.due, ends) end
        end
      end
      if all and s.waiting > 0 then
        for _, ticket in ipairs(x.waiters()) do
          local ends = place_ends(need(ticket))
          if ends <= now then s.drop_waiter(ticket) else s.due = min(s.due, ends) end
        end
      end
    end

    -- A holder gives back what it has beyond these units.
    function x.lower(ticket, units)
      local r = need(ticket)
      local function all() return r.owner ~= '' and s.owners().share(r.owner) or r.number == 0 and r.units or 0 end
      local before = all()
      r.units = units
      s.used = s.used - before + all()
    end

    -- A holder's token is at least this one, and nobody else's.
    function x.raise(ticket, token)
      local r = need(ticket)
      if r.token >= token then return end
      r.token = max(token, s.tok + 1)
      s.tok = r.token
      s.eldest = ''
      changed[ticket] = true
    end

    -- The holder stays, held by nobody.
    function x.park(ticket, park)
      local r = need(ticket)
      r.flag, r.hold = 2, tonumber(park)
      changed[ticket] = true
      hold_until(ticket, now + r.hold * 1000)
    end

    -- The holder `old` becomes `ticket`, at the same place and with all it has. Says whether, and if not, whether it has to
    -- wait for the opening.
    function x.swap(old, ticket, r)
      local before = s.record(old)
      if not before or before.token == 0 or before.flag == 2 then return false, false end
      if closed then return false, true end
      for _, field in ipairs({'place', 'units', 'takes', 'owner', 'number', 'text'}) do r[field] = before[field] end
      r.heard, r.told, r.flag = now, 0, 0
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

    function x.holders()
      if not held_by_many() then return {s.one} end
      if s.listed then return tickets_of(s.listed.held) end
      return x.need_all(call('ZRANGE', HELD, 0, -1))
    end

    -- Drops the holders of an owner, or all if it is empty, and tells them.
    function x.drop_all(owner)
      local dropped = 0
      for _, ticket in ipairs(x.holders()) do
        local r = need(ticket)
        if owner == '' or r.owner == owner then
          tell(r.member, 'lost ' .. ticket)
          s.drop_holder(ticket, true)
          dropped = dropped + 1
        end
      end
      return dropped
    end

    -- Tells the holders of an owner that their time counts again; says how many of them heard it.
    function x.refresh(owner, expire)
      local told = 0
      for _, ticket in ipairs(x.holders()) do
        local r = need(ticket)
        if r.owner == owner and r.flag ~= 2 and tell(r.member, 'refresh ' .. ticket .. ' ' .. expire) > 0 then
          told = told + 1
        end
      end
      return told
    end

    -- A waiter leaves after all. (Who has not claimed may go on to believe in it.)
    function x.withdraw(ticket)
      if need(ticket).token == 0 then s.drop_waiter(ticket) end
      forget()
    end

    -- Whether a ticket comes before another: by token, then by place. Waiters have the token 0 all.
    local function before(a, b)
      local one, other = need(a), need(b)
      return one.token < other.token or one.token == other.token and one.place < other.place
    end

    -- Who waits for what an owner has enters, whatever its place.
    function x.let_in(member, own, owner)
      local _, units, token = s.owners().share(owner)
      if not units then return end
      local found = {}
      for _, ticket in ipairs(x.waiters()) do
        local r = need(ticket)
        if r.owner == owner and r.units <= units then found[#found + 1] = ticket end
      end
      table.sort(found, before)
      for _, ticket in ipairs(found) do
        local r = need(ticket)
        if not give(member, own, ticket, r, token, true, 0, '') and r.flag ~= 3 then
          s.told = min(s.told, r.place - 1)
          moved = true
        end
      end
    end

    -- The record of the one of many that has held for the longest.
    function x.eldest()
      if s.eldest == '' then
        for _, ticket in ipairs(x.holders()) do
          if s.eldest == '' or before(ticket, s.eldest) then s.eldest = ticket end
        end
      end
      return need(s.eldest)
    end

    -- The units that are used, the number of signals, the holders (in order of token, then of place) and the waiters (of
    -- place), all as if what has ended had been dropped. Each holder or waiter is
    -- {ticket, member, units, token, meta, microseconds left, parked}.
    function x.list()
      local used, shared = 0, {}
      local signals = s.signals > 0 and call('ZCARD', SIGNALS) or 0
      local held, waiters = {}, {}

      local function describe(found, ticket, r, ends)
        if ends <= now then return false end
        found[#found + 1] = {ticket, r.member, r.units, int(r.token), r.meta, int(ends - now), r.flag == 2 and 1 or 0}
        return true
      end

      local function holder(ticket, ends)
        local r = need(ticket)
        if not describe(held, ticket, r, ends) then
          if r.number > 0 then signals = signals + 1 end
        elseif r.owner == '' then
          if r.number == 0 then used = used + r.units end
        else
          local before = shared[r.owner] or 0
          shared[r.owner] = max(before, r.number == 0 and r.units or 0)
          used = used + shared[r.owner] - before
        end
      end

      local function in_order(a, b) return before(a[1], b[1]) end

      if s.holders > 0 then
        local leases = x.leases()
        for _, ticket in ipairs(x.holders()) do holder(ticket, leases[ticket]) end
        table.sort(held, in_order)
      end
      if s.waiting > 0 then
        for _, ticket in ipairs(x.waiters()) do
          local r = need(ticket)
          describe(waiters, ticket, r, place_ends(r))
        end
        table.sort(waiters, in_order)
      end
      return used, signals, held, waiters
    end

    return x
  end
