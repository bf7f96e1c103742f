-- Handles plain operations on a name in the form `3 q`, and plain acquires in the forms `3 s` and `3 t`, by cutting the
-- new text out of the old one. Decoding the state, as the rest of the script does, takes twice as long. This part
-- covers only the simplest cases: no lease or place has ended, the clock wasn't stepped back, at most one waiter is
-- granted, and no client keeps the lock between its calls. The rest of the script handles the others.

-- A message about a ticket: its public half, and a code that only readers of its record can compute. Others may hear
-- and publish messages.
local function seal(word, ticket, after)
  ticket = hex(ticket)
  local text = word .. ' ' .. sub(ticket, 1, 16)
  return text .. sub(redis.sha1hex(ticket .. text .. after), 1, 16) .. after
end

-- Writes out what a short acquire or touch leaves out.
local function long(text)
  local code = byte(text, 33)
  if code == TOUCH then return #text > SHORT_SIZE and text or text .. sub(text, 38, 41) .. '\0\0\0\0\0' end
  if code % (2 * LONG) >= LONG then return text end
  return sub(text, 1, 32) .. pack('B', code + LONG) .. sub(text, 34, 41) .. sub(text, 38, 41) .. '\1\0\0\0\1\0\0\0' .. sub(text, 42)
end

-- Returns the code of an operation, its text, written out, and the ticket and the member.
local function operation(i)
  local text = ARGV[base + i]
  local ticket, member = sub(text, 1, 16), sub(text, 17, 32)
  if #text == 16 then member = sub(ARGV[base + i + 1] or '', 17, 32) end
  local code = byte(text, 33) or #text > 9 and RELEASE or byte(text)
  if code >= ACQUIRE and code < ACQUIRE + 2 * LONG then return code % 16 > 7 and TRY or ACQUIRE, long(text), ticket, member end
  return code, code == TOUCH and long(text) or text, ticket, member
end

-- Where the request begins in the form `3 s` or `3 t`, and when its holder was heard; nil if the state has another
-- form.
local function single_from(form)
  local from = form == '3 s ' and 13 or form == '3 t ' and 19
  local code = from and byte(state, from + 32)
  if not code or #state - from < (code % (2 * LONG) >= LONG and LONG_SIZE or SHORT_SIZE) - 1 then return end
  local heard = unpack_struct('<d', state, 5)
  if from == 19 then heard = heard + unpack_struct('<I6', state, 13) end
  return from, heard
end

local form = state and sub(state, 1, 4)
local replies, first = {}, 1
local function cut()
  local function write(text)
    return not redis.pcall('SET', KEY, text, 'PX', FRESH_MS).err
  end
  -- The first holder, as in a reply.
  local function holder(from)
    local length, token = unpack_struct('<I', from, QUEUE_START), unpack_struct('<d', from, QUEUE_START + 33)
    return string.format(' %d%09d %s', token / 1000000000, token % 1000000000, sub(from, QUEUE_START + RECORD_SIZE + LONG_SIZE, QUEUE_START + RECORD_SIZE - 1 + length))
  end
  local function queued(from, queue, position, again)
    if position <= NEAR then
      local ends, at = FAR, QUEUE_START
      while at < queue do
        local bytes, _, _, _, _, lease = unpack_struct('<IIBddd', from, at)
        ends, at = min(ends, lease), at + RECORD_SIZE + bytes
      end
      again = min(NEAR_MS, again, math.ceil((ends - now) / 1000) + 1)
    end
    return string.format('QUEUED %d %d', position, max(1, again)) .. holder(from)
  end
  while first <= count do
    local code, text, ticket, member = operation(first)
    local reply
    form = state and sub(state, 1, 4)
    repeat
      local tok, cap, seq, clk, used, due, latest, told, holders, waiting, known, size
      -- Puts the records where the form `3 q` has them.
      local from = state
      if form == '3 q ' and #state >= QUEUE_START then
        tok, cap, seq, clk, used, due, latest, told, holders, waiting, known, size = unpack_struct('<dddddddddddd', state, 5)
        if told == 0 and waiting > 0 then break end
      else
        if not state or code ~= ACQUIRE and code ~= TRY then break end
        local at
        at, clk = single_from(form)
        if not at then break end
        local request, hold, _ = long(sub(state, at))
        tok = unpack_struct('<d', state, 5)
        hold, _, used, cap = unpack_struct('<IIII', request, 38)
        due = clk + hold * 1000
        latest, seq, told, holders, waiting, known, size = due, 0, 0, 1, 0, 1, RECORD_SIZE + #request
        from = string.rep(' ', QUEUE_START - 1) .. pack('<IIBddddB', #request, 0, 0, 0, clk, due, tok, 31) .. request
      end
      if not (now >= clk and now < due and latest <= now + LONGEST_HOLD_MS * 1000 and tok <= now + WINDOW_US and holders > 0) then break end
      local queue = QUEUE_START + size

      if code == ACQUIRE or code == TRY then
        local kind, _, hold, wait, units, capacity = unpack_struct('<BIIIII', text, 33)
        if capacity ~= cap or units > cap or hold > LONGEST_HOLD_MS
          or holders + waiting >= MOST or string.find(from, '\31' .. ticket, QUEUE_START, true) then
          break
        end
        local room = waiting == 0 and used + units <= cap
        if not room and byte(from, CODE_START) % 8 > 1 then break end
        if not room and code == TRY then
          reply = 'BUSY' .. holder(from)
          break
        end
        -- A new waiter asks again soon anyway, so it needs no message.
        local ends, granted, when, layout, rest = now + wait * 1000, 0, now, '<IIBddddB', text
        seq = max(now, seq + 1)
        if room then
          tok = max(now, tok + 1)
          ends, granted = now + hold * 1000, tok
          when, holders, used, size = ends, holders + 1, used + units, size + RECORD_SIZE + #text
          latest, reply = max(latest, ends), tok
        else
          waiting = waiting + 1
          -- A client that had to wait doesn't keep the lock.
          if kind % 8 > 1 then layout, rest = '<IIBddddBc32B', sub(text, 34) end
          if waiting <= NEAR then told = seq end
          reply = queued(from, queue, waiting, min(NEAR_MS, wait / 3))
        end
        local new = '3 q ' .. pack('<dddddddddddd', tok, cap, seq, now, used, min(due, ends), latest, told, holders, waiting, 1, size)
          .. sub(from, QUEUE_START) .. pack(layout, #text, 0, 0, seq, now, when, granted, 31, text, kind - kind % 8 + kind % 2) .. rest
        if write(new) then state = new else reply = nil end
        break
      end
      if code ~= TOUCH and (code ~= RELEASE or #text > 32) then break end

      local start = string.find(state, '\31' .. ticket, QUEUE_START, true)
      if not start then break end
      start = start - RECORD_SIZE + 1
      local bytes, _, flag, place, _, when, token = unpack_struct('<IIBdddd', state, start)
      local after = start + RECORD_SIZE + bytes

      if code == TOUCH then
        local kind, last = unpack_struct('<BI', state, start + 74)
        local counter, hold, wait, units, mark = unpack_struct('<IIIIB', text, 34)
        if counter < last or units ~= 0 or hold > LONGEST_HOLD_MS then break end
        local ends
        if token > 0 then
          if kind % 8 > 1 or mark > 0 then break end
          ends, flag, reply = now + hold * 1000, 0, token
          when, latest = ends, max(latest, ends)
        else
          if byte(state, CODE_START) % 8 > 1 then break end
          ends, when = now + wait * 1000, 0
          local position, at = 1, queue
          while at < start do
            position, at = position + 1, at + RECORD_SIZE + unpack_struct('<I', state, at)
          end
          if position <= NEAR then when = now end
          reply = queued(state, queue, position, wait / 3)
        end
        local new = '3 q ' .. pack('<dddddddddddd', tok, cap, seq, now, used, min(due, ends), latest, told, holders, waiting, 1, size)
          .. sub(state, QUEUE_START, start - 1) .. pack('<IIBddddB', bytes, 0, flag, place, now, when, token, 31)
          .. sub(state, start + 42, start + 74) .. sub(text, 34, 45) .. sub(state, start + 87)
        if write(new) then state = new else reply = nil end
        break
      end

      -- Copies each part once. `left` is the start of the new queue, and `rest` where the remainder begins in the old
      -- text.
      local held, rest, left = '', queue, ''
      local to, granted, message
      if start >= queue then
        -- If the first waiter leaves and the next one fits, the rest of the script grants to it.
        if start == queue and waiting > 1 and used + unpack_struct('<I', state, after + 87) <= cap then break end
        reply, waiting, held = 'CANCELLED', waiting - 1, sub(state, QUEUE_START, queue - 1)
        left, rest = sub(state, queue, start - 1), after
      else
        used, holders, size = used - unpack_struct('<I', state, start + 87), holders - 1, size - (after - start)
        if holders > 0 then held = sub(state, QUEUE_START, start - 1) .. sub(state, after, queue - 1) end
        if waiting > 0 then
          local bytes, _, _, place, heard, told = unpack_struct('<IIBddd', state, queue)
          local counter, hold, _, units = unpack_struct('<IIII', state, queue + 75)
          if used + units <= cap then
            -- Not handled here: the next one fits too, or the first wants all units and was silent for long.
            rest, to = queue + RECORD_SIZE + bytes, sub(state, queue + 58, queue + 73)
            if waiting > 1 and used + units + unpack_struct('<I', state, rest + 87) <= cap
              or units == cap and to ~= member and now - max(heard, told) > CLAIM_MS * 1000 then
              break
            end
            tok, hold = max(now, tok + 1), min(CLAIM_MS, hold)
            local ends = now + hold * 1000
            held = held .. pack('<IIBddddB', bytes, 0, 1, place, heard, ends, tok, 31) .. sub(state, queue + RECORD_SIZE, rest - 1)
            used, holders, waiting, due, size = used + units, holders + 1, waiting - 1, min(due, ends), size + RECORD_SIZE + bytes
            granted = sub(state, queue + 42, queue + 57)
            message = string.format(' %d%09d %d %d ', tok / 1000000000, tok % 1000000000, counter, hold)
          end
        end
        if holders == 0 then
          -- If waiters are left, the rest of the script handles them, because the first may be waiting for a signal
          -- instead of units.
          local idle = '3 i ' .. sub(state, 5, 12)
          if waiting == 0 and tok <= now and write(idle) then state, reply = idle, cap end
          break
        end
        reply = max(0, cap - used)
      end

      -- The waiter that moves up to the third position gets a message. Those before it already got theirs.
      local near
      if waiting >= NEAR then
        local third = left == '' and rest or queue
        for _ = 2, NEAR do
          third = third + RECORD_SIZE + unpack_struct('<I', state, third)
          if third == start then third = after end
        end
        local bytes, _, _, place, heard, when = unpack_struct('<IIBddd', state, third)
        told = max(told, place)
        if when == 0 then
          near = third + RECORD_SIZE
          left = left .. sub(state, rest, third - 1) .. pack('<IIBddddB', bytes, 0, 0, place, heard, now, 0, 31)
          rest = near
        end
      end

      local new = '3 q ' .. pack('<dddddddddddd', tok, cap, seq, now, used, due, latest, told, holders, waiting, 1, size) .. held .. left
        .. sub(state, rest)
      if not write(new) then
        reply = nil
        break
      end
      local name = sub(KEY, NAME_START, -2)
      if to and publish(to, seal('grant', granted, message .. name)) == 0 then
        -- No connection received the message, so restore the state from before the grant.
        call('SET', KEY, state, 'PX', FRESH_MS)
        reply = nil
        break
      end
      if near then
        publish(sub(state, near + 16, near + 31), seal('near', sub(state, near, near + 15), ' ' .. name))
      end
      state = new
    until true
    if not reply then break end
    replies[first] = reply
    first = first + 1
  end
end
pcall(cut)
if first > count then return replies[2] and replies or replies[1] end
form = state and sub(state, 1, 4)
