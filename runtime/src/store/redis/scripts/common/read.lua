  -- Reading the first key; the end of `open`.

  local function read_single()
    local heard, token
    heard, s.tok, token = unpack_struct(SINGLE, state, 5)
    local ticket, r = read_request(state, 29, #state, 0, heard, 0, token, 0)
    records[ticket] = r
    s.cap, s.clk, s.used, s.known = unpack_struct('<d', state, 77), heard, r.units, 1
    s.holders, s.one, s.one_ends = 1, ticket, heard + r.hold * 1000
  end

  local function read_list()
    local size, start
    s.tok, s.seq, s.clk, s.used, s.cap, s.due, s.holders, s.waiting, size, start = unpack_struct(LIST, state, 5)
    local held, queue = {}, {}
    local stop = start + size
    if s.holders < 1 or s.holders + s.waiting > MOST then foreign('the key holds something else') end
    for i = 1, s.holders + s.waiting do
      local length, flag, place, heard, ends, token, mark, first = unpack_struct(LISTED, state, start)
      start = first + length
      local holds = i <= s.holders
      if flag > 1 or mark ~= 31 or holds ~= (token > 0) or holds ~= (start <= stop) then foreign('a record is unreadable') end
      local ticket, r = read_request(state, first, start - 1, place, heard, holds and 0 or ends, token, flag)
      records[ticket] = r
      changed[ticket] = true
      local set = holds and held or queue
      set[#set + 1] = int(holds and ends or place)
      set[#set + 1] = ticket
      if i <= NEAR + s.holders and not holds then s.told = place end
      if s.holders == 1 and holds then s.one, s.one_ends = ticket, ends end
      if s.holders > 1 and i == 1 then s.eldest = ticket end
    end
    if start ~= #state + 1 then foreign('a record is unreadable') end
    s.known, s.most, s.listed = 1, MOST, {held = held, queue = queue}
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
    s.spread = s.waiting > 0 or held_by_many()
    return s.tok < FAR and s.tok + s.cap + s.seq + s.clk + s.used + s.tombs + s.holders + s.waiting + s.due + s.expires
      + s.told + s.known + s.signals + s.last + s.lent + s.owned + s.asking <= 10 * FAR
  end

  if state then
    local form = match(state, '^1 (%l) ')
    local ours = true
    if form == 'f' then
      ours = read_full()
    elseif form == 's' then
      read_single()
    elseif form == 'q' then
      read_list()
    elseif (form == 'i' or form == 'd') and #state == 12 then
      s.tok, s.known = unpack_struct('<d', state, 5), form == 'i' and 1 or 0
    else
      ours = false
    end
    if not ours or not (s.tok >= 0 and s.tok < FAR and s.cap >= 0 and s.cap < FAR) then
      foreign('the key holds something else')
    end
  end
  end
  build()
  return s
end
