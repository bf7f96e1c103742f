  -- The token of `r` is new, so it is greater than those of all other holders.
  local function add_holder(r)
    if r[NUMBER] > 0 then s[LENT] = s[LENT] + 1 else s[USED] = s[USED] + r[UNITS] end
    r[CHANGED] = true
    if s[HELD_APART] == 1 then others().enter(r) else held[#held + 1] = r end
    s[HOLDERS], s[DUE], s[LATEST] = s[HOLDERS] + 1, min(s[DUE], r[WHEN]), max(s[LATEST], r[WHEN])
  end

  local function remove_holder(r)
    if r[NUMBER] > 0 then s[LENT] = max(0, s[LENT] - 1) else s[USED] = max(0, s[USED] - r[UNITS]) end
    if s[HELD_APART] == 1 then others().let_go(r) else remove(held, index_of(held, r)) end
    s[HOLDERS] = max(0, s[HOLDERS] - 1)
  end

  local function put_waiter(r)
    r[CHANGED], moved = true, true
    s[WAITING], s[DUE] = s[WAITING] + 1, min(s[DUE], r[HEARD] + r[WAIT] * 1000)
    if s[QUEUE_APART] == 1 then return others().wait(r) end
    local i = #queue + 1
    if r[FLAG] == 3 then
      while i > 1 and not place_at(i - 1) and r[PLACE] < fetch(queue, i - 1)[PLACE] do i = i - 1 end
    else
      while i > 1 and (place_at(i - 1) or FAR) > r[PLACE] do i = i - 1 end
    end
    insert(queue, i, r)
  end

  local function take_waiter(r)
    moved = true
    s[WAITING] = max(0, s[WAITING] - 1)
    if s[QUEUE_APART] == 1 then others().leave(r) else remove(queue, index_of(queue, r)) end
  end

  local function tell(r, word, after)
    return publish(sub(r[REQUEST], 17, 32), seal(word, r[TICKET], after))
  end

  -- Makes a write that Redis accepts even if its memory is full. After it, Redis denies no other write of this run.
  local function allow()
    if not allowed then call('PEXPIRE', KEY, FRESH_MS) end
    allowed = true
  end

  -- Returns false if the waiter is unlikely to claim the grant. `number` and `text` are those of the granted signal (0:
  -- none). `own` is the ticket that the reply to `member` is about, and whose grant needs no message.
  local function give(member, own, r, number, text)
    local hold, flag = r[HOLD], 0
    local token = max(now, s[TOK] + 1)
    if r ~= own then
      hold, flag = min(CLAIM_MS, hold), 1
      -- A waiter for all units could block all others, so it must have touched, or received a message, recently.
      local alone = number == 0 and r[UNITS] == s[CAP]
      local deaf = alone and now - max(r[HEARD], r[WHEN]) > CLAIM_MS * 1000 and sub(r[REQUEST], 17, 32) ~= member
      if not deaf then
        -- A published message cannot be withdrawn, so the write of the grant must not be denied.
        allow()
        local after = ' ' .. int(token) .. ' ' .. int(r[COUNTER]) .. ' ' .. int(hold) .. ' ' .. sub(KEY, NAME_START, -2)
        deaf = tell(r, 'grant', text and after .. ' ' .. text or after) == 0
      end
      if deaf then
        r[WHEN], r[CHANGED] = 0, true
        return false
      end
    end
    take_waiter(r)
    r[FLAG], r[TOKEN], r[WHEN], r[NUMBER], r[TEXT] = flag, token, now + hold * 1000, number, text
    if number > 0 then signalling().take(number, text) end
    s[TOK] = token
    add_holder(r)
    return true
  end

  local function text_of(r)
    local signal = r[TEXT] and pack('<d', r[NUMBER]) .. r[TEXT] or ''
    return pack('<IIBddddB', #r[REQUEST] + #signal, #signal, r[FLAG], r[PLACE], r[HEARD], r[WHEN], r[TOKEN], 31) .. r[REQUEST] .. signal
  end

  local function ask(r, counter, hold, wait, units)
    r[COUNTER], r[HOLD], r[WAIT], r[UNITS], r[CHANGED] = counter, hold, wait, units, true
    r[REQUEST] = sub(r[REQUEST], 1, 33) .. pack('<IIII', counter, hold, wait, units) .. sub(r[REQUEST], CAPACITY_AT)
  end

  -- Stores whether the client may keep the lock between its calls.
  local function retain(r, mark)
    local mode = r[MODE] % 2 + 2 * mark
    if mode == r[MODE] then return end
    r[REQUEST] = sub(r[REQUEST], 1, 32) .. pack('B', byte(r[REQUEST], 33) - r[MODE] + mode) .. sub(r[REQUEST], 34)
    r[MODE], r[CHANGED] = mode, true
  end

  -- Asks the client that keeps the lock of the only holder between its calls to release it. Returns whether no call is
  -- inside.
  local function ask_back(r, member)
    if s[HOLDERS] > 1 or r[MODE] < 2 or sub(r[REQUEST], 17, 32) == member then return false end
    tell(r, 'recall', ' ' .. sub(KEY, NAME_START, -2))
    return r[MODE] > 3
  end

  local function lease_until(r, ends)
    r[WHEN], r[CHANGED] = ends, true
    s[DUE], s[LATEST] = min(s[DUE], ends), max(s[LATEST], ends)
    if s[HELD_APART] == 1 then others().hold(r) end
  end

  local function forget()
    if s[HOLDERS] + s[WAITING] == 0 then
      s[CAP], s[SEQ], s[USED], s[TOLD], s[DUE], s[LATEST] = 0, 0, 0, 0, FAR, 0
    end
    if s[SIGNALS] + s[LENT] == 0 then s[LAST] = 0 end
  end
