  -- Holders and waiters. The only holder is part of the first key; more are in the sorted set.

  local function in_use()
    return s.holders > 0 or s.waiting > 0
  end

  -- Before the first entry in any of the keys of tickets.
  local function begin()
    if call('EXISTS', TICKETS, HELD, QUEUE) > 0 then s.rare().clear() end
    s.spread = true
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
    s.used = s.used + (r.owner ~= '' and s.owners().add(ticket, r) or r.number == 0 and r.units or 0)
    if r.number > 0 then s.lent = s.lent + 1 end
    if s.holders == 0 then
      s.one, s.one_ends = ticket, ends
    else
      if s.one then
        if s.waiting == 0 then begin() end
        to_set(s.one, s.one_ends)
        changed[s.one] = true
        s.eldest = s.one
        s.one = nil
        s.expires = 0
      end
      to_set(ticket, ends)
    end
    changed[ticket] = true
    s.holders = s.holders + 1
  end

  local function remove_holder(ticket)
    local r = need(ticket)
    local units = r.owner ~= '' and s.owners().remove(ticket, r) or r.number == 0 and r.units or 0
    if r.number > 0 then s.lent = max(0, s.lent - 1) end
    if ticket == s.one then s.one = nil else call('ZREM', HELD, ticket) end
    if ticket == s.eldest then s.eldest = '' end
    s.holders, s.used = max(0, s.holders - 1), max(0, s.used - units)
  end

  local function drop(ticket)
    records[ticket] = false
    changed[ticket] = true
  end

  -- With `returns`, the signal that it holds goes back to its place.
  function s.drop_holder(ticket, returns)
    local r = need(ticket)
    remove_holder(ticket)
    if returns and r.number > 0 then s.signal().put(r.number, r.text) end
    drop(ticket)
  end

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
    if r.owner ~= '' then s.asking = s.asking + 1 end
    s.due = min(s.due, place_ends(r))
    changed[ticket] = true
    moved = true
  end

  local function remove_waiter(ticket)
    call('ZREM', QUEUE, ticket)
    s.waiting = max(0, s.waiting - 1)
    if need(ticket).owner ~= '' then s.asking = max(0, s.asking - 1) end
    moved = true
  end

  function s.drop_waiter(ticket)
    remove_waiter(ticket)
    drop(ticket)
  end

  local function forget()
    if not in_use() then s.cap, s.seq, s.used, s.told, s.due = 0, 0, 0, 0, FAR end
    if s.signals == 0 and s.lent == 0 then s.last = 0 end
  end
