  -- Reading the first key; the end of `open`.

  local function read_single(ticket, heard, hold, wait, counter, tok, token, units, cap, member, meta)
    if not ticket then return end
    local r = record_of(0, tonumber(units), tonumber(hold), tonumber(wait), tonumber(counter), tonumber(heard), 0,
      tonumber(token), 0, 0, 0, '', member, meta, '')
    records[ticket] = r
    s.tok, s.cap, s.clk, s.used, s.known = tonumber(tok), tonumber(cap), r.heard, r.units, 1
    s.holders, s.one, s.one_ends = 1, ticket, r.heard + r.hold * 1000
    return true
  end

  local function read_full()
    local next
    s.tok, s.cap, s.seq, s.clk, s.used, s.tombs, s.holders, s.waiting, s.due, s.expires, s.told, s.known, s.signals,
      s.last, s.lent, s.owned, s.asking, s.eldest, next = unpack_struct(STATE, state, 5)
    if next <= #state then
      s.one, s.one_ends, next = unpack_struct(ONE, state, next)
      records[s.one] = read_record(state, next)
    end
    moved = s.told == 0
    return s.tok < FAR and s.tok + s.cap + s.seq + s.clk + s.used + s.tombs + s.holders + s.waiting + s.due + s.expires
      + s.told + s.known + s.signals + s.last + s.lent + s.owned + s.asking <= 10 * FAR
  end

  if state then
    local form, tok = match(state, '^1 (%l) (%d*)')
    local ours
    if form == 'f' then
      ours = read_full()
    elseif form == 's' then
      ours = read_single(match(state,
        '^1 s (%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (.*)$'))
    elseif form == 'i' or form == 'd' then
      ours = #state == #tok + 4 and tonumber(tok)
      s.tok, s.known = ours, form == 'i' and 1 or 0
    end
    ours = ours and s.tok < FAR
    if not ours then foreign('the key holds something else') end
  end
  end
  build()
  return s
end
