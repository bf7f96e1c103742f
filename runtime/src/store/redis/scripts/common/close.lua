  -- Writing what changed.

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

  -- The records one behind the other, if there are few plain ones.
  local function list_of(tickets, leases)
    local text = {}
    for i, ticket in ipairs(tickets) do
      local r = need(ticket)
      if r.flag > 1 or #r.meta > LONGEST_META then return end
      local request = request_of(ticket, r)
      text[i] = pack(LISTED, #request, r.flag, r.place, r.heard, leases and leases[ticket] or r.told, r.token, 31)
        .. request
      s.due = min(s.due, leases and leases[ticket] or place_ends(r))
    end
    return table.concat(text)
  end

  local function by_token(a, b)
    return need(a).token < need(b).token
  end

  -- STATE as a list, or nothing. (If anybody moved up since the grant, somebody may have to be told. While nothing is
  -- granted, the first may wait for what is free.)
  local function listed()
    if moved or closed and s.waiting > 0 or s.holders == 0 or s.holders + s.waiting > s.most or s.tombs + s.signals + s.lent + s.owned + s.asking > 0 then
      return
    end
    local x = s.rare()
    local holders = x.holders()
    table.sort(holders, by_token)
    local held = list_of(holders, x.leases())
    local queue = held and list_of(s.waiting > 0 and x.waiters() or {})
    return queue and '1 q ' .. pack(LIST, s.tok, s.seq, s.clk, s.used, s.cap, s.due, s.holders, s.waiting, #held) .. held
      .. queue
  end

  -- Writes what changed.
  function s.close()
    local r = s.one and need(s.one)
    local single = r and s.waiting + s.tombs + s.signals + r.flag + r.number == 0 and r.owner == ''
      and s.one_ends == r.heard + r.hold * 1000
    local text = not single and listed()
    local last = s.one and s.one_ends or now
    if held_by_many() then
      local _
      _, last = pairs_of(call('ZRANGE', HELD, -1, -1, 'WITHSCORES'))()
    end
    if text then
      if s.spread then call('DEL', TICKETS, HELD, QUEUE) end
    else
      write_records()
    end
    -- Not looked at by this operation, so by the next one.
    if moved then s.told = 0 end
    local ttl = (s.signals + s.lent > 0 and SIGNALS_KEPT_MS or KEPT_MS)
      + max(0, math.ceil(((last or now) - now) / 1000))
    local kept = not text and (s.waiting > 0 or held_by_many())
    if not kept and s.signals == 0 then
      s.expires = 0
    elseif s.expires < now + ttl * 1000 then
      -- Longer than needed, so that it is not needed each time.
      local long = ttl + KEPT_MS
      if kept then
        call('PEXPIRE', TICKETS, long)
        call('PEXPIRE', HELD, long)
        call('PEXPIRE', QUEUE, long)
      end
      if s.signals > 0 then call('PEXPIRE', SIGNALS, long) end
      s.expires = now + long * 1000
    end
    if s.tombs > 0 then call('PEXPIRE', GONE, TOMB_MS) end
    -- After the clock was stepped back, the window that TOK is in has not begun yet; see base.lua.
    local ahead = max(0, math.ceil((s.tok - now) / 1000))
    if s.tombs + s.signals == 0 and not in_use() then
      if s.tok + s.known == 0 then
        -- Nothing to remember.
        if state then call('DEL', MAIN) end
        return
      end
      text, ttl = (s.known == 1 and '1 i ' or '1 d ') .. pack('<d', s.tok), ttl + KEPT_MS + ahead
    elseif single then
      text, ttl = '1 s ' .. pack(SINGLE, r.heard, s.tok, r.token) .. request_of(s.one, r), ttl + KEPT_MS + ahead
    elseif not text then
      text = '1 f ' .. pack(STATE, s.tok, s.cap, s.seq, s.clk, s.used, s.tombs, s.holders, s.waiting, s.due,
        s.expires, s.told, s.known, s.signals, s.last, s.lent, s.owned, s.asking, s.eldest)
      if r then text = text .. pack(ONE, s.one, s.one_ends) .. text_of(r) end
    end
    call('SET', MAIN, text, 'PX', ttl)
  end
