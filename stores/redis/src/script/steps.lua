  local changes = false
  for i = first, count do
    local code, text, ticket, member = operation(i)
    -- `r`: the record of the operation's ticket. `own`: the same, if the reply reports a grant to it, which then needs
    -- no message. `heard`: the operation touches `own`. `word`: the reply, unless it is the status of `r`.
    -- `cap`: the capacity of the name with a new ticket. `known`: the first holder of another kind of lock.
    local r, own, heard, word, capacity, unclaimed, known, cap
    if code == UNTIL then
      opens = unpack_struct('<d', text, 2)
      closed = now < opens
    elseif code == SPREAD then
      most, few = 0, -1
    elseif code == INSPECT then
      replies[#replies + 1] = seldom().inspect((unpack_struct('<I', text, 34)))
    elseif code == PROBE then
      local message = 'probe ' .. hex(member) .. ' ' .. sub(KEY, NAME_START, -2) .. ' ' .. sub(text, 50)
      replies[#replies + 1] = 'TOLD ' .. publish(sub(text, 34, 49), message)
    else
      changes = true
      if not plain then seldom().prune(code, ticket, text) end
      s[CLK] = now

      if code == ACQUIRE or code == TRY then
        local units, mode
        units, capacity = unpack_struct('<II', text, 46)
        mode = byte(text, 33) % 8
        r = find(ticket)
        if mode % 2 == 0 and units > capacity then
          word = 'TOO_MANY'
        elseif s[TOMBS] > 0 and seldom().is_buried(ticket) or r and r[FLAG] == 2 then
          word = 'REFUSED'
        elseif r then
          own, heard = r, true
          if r[TOKEN] == 0 then r[REQUEST] = sub(r[REQUEST], 1, LONG_SIZE) .. sub(text, LONG_SIZE + 1) end
        else
          cap = capacity
          if s[HOLDERS] + s[WAITING] > 0 and s[CAP] ~= cap then cap, word, known = seldom().agree(units, cap, mode % 2) end
        end
        if cap then
          -- A new waiter at the end of the queue. It asks again soon anyway, so it needs no message.
          s[SEQ], s[KNOWN], s[CAP] = max(now, s[SEQ] + 1), 1, cap
          r = record_of(text, 0, s[SEQ], now, now, 0, 0)
          own = r
          put_waiter(r)
        end
      elseif code == TOUCH then
        r = find(ticket)
        own, heard = r, r and r[FLAG] ~= 2
        if not heard then word = 'GONE' end
      elseif code == RELEASE then
        local park, used, tomb = 0, 0, 0
        if #text > 32 then park, used, tomb = unpack_struct('<IdB', text, 34) end
        capacity = s[CAP]
        r = find(ticket)
        if not r then
          word = 'GONE'
        elseif r[TOKEN] == 0 then
          word = 'CANCELLED'
          take_waiter(r)
          records[ticket] = false
        else
          word = 'RELEASED'
          if r[FLAG] ~= 2 and park > 0 and r[NUMBER] == 0 then
            r[FLAG] = 2
            ask(r, r[COUNTER], park, r[WAIT], r[UNITS])
            retain(r, 0)
            lease_until(r, now + park * 1000)
          elseif r[FLAG] ~= 2 then
            remove_holder(r)
            records[ticket] = false
            if r[NUMBER] > 0 and r[TOKEN] ~= used then signalling().put(r[NUMBER], r[TEXT], 1) end
          end
        end
        if tomb == 1 then seldom().bury(ticket) end
      else
        r, own, heard, word = seldom().operate(code, text, ticket)
      end

      -- A late copy may ask for a shorter lease than the request that the client relies on.
      if heard and own[TOKEN] > 0 and own[FLAG] == 0 and unpack_struct('<I', text, 34) < own[COUNTER] then heard = false end
      if heard then
        local counter, hold, wait, units = unpack_struct('<IIII', text, 34)
        own[HEARD] = now
        -- A store that grants nothing accepts no claims, but withdraws no grant either, because the member may rely on
        -- it.
        unclaimed = closed and own[FLAG] == 1
        ask(own, max(counter, own[COUNTER]), unclaimed and own[HOLD] or hold, wait, own[UNITS])
        if own[TOKEN] > 0 then
          if not unclaimed then
            own[FLAG] = 0
            lease_until(own, now + hold * 1000)
          end
          if code == TOUCH and units > 0 and units < own[UNITS] then
            if own[NUMBER] == 0 then s[USED] = max(0, s[USED] - own[UNITS] + units) end
            ask(own, own[COUNTER], own[HOLD], wait, units)
          end
          if code == TOUCH then
            local mark = not closed and s[HOLDERS] == 1 and own[NUMBER] == 0 and byte(text, 50) or 0
            -- The calls since the last touch have used fencing tokens up to this one.
            if mark == 2 or mark == 1 and own[MODE] > 3 then
              remove_holder(own)
              s[TOK] = max(now, s[TOK] + 1)
              own[TOKEN] = s[TOK]
              add_holder(own)
            end
            retain(own, mark)
          end
        else
          s[DUE] = min(s[DUE], now + wait * 1000)
          if own[FLAG] == 3 then
            take_waiter(own)
            own[FLAG] = 0
            put_waiter(own)
          elseif s[QUEUE_APART] == 1 then
            others().stay(own)
          end
          own[WHEN], moved = 0, true
          s[TOLD] = min(s[TOLD], own[PLACE] - 1)
        end
      end

      -- One run of the script must not keep the server busy for long. Messages to the granted members, and to those
      -- that come next, cause the next operations on this name.
      local tries = 0
      while tries < BATCH and s[WAITING] > 0 and not closed and place_at(1) do
        if s[USED] >= s[CAP] and s[SIGNALS] == 0 then break end
        local first, number, words = waiter_at(1), 0, nil
        if first[MODE] % 2 == 1 and s[SIGNALS] > 0 then number, words = signalling().first() end
        if number == 0 and s[USED] + first[UNITS] > s[CAP] then break end
        tries = tries + 1
        if not give(member, own, first, number, words) then
          take_waiter(first)
          first[FLAG] = 3
          put_waiter(first)
        end
      end

      -- The first three waiters get a message to ask soon, unless they already got one.
      if moved and s[WAITING] > 0 then
        for position = 1, NEAR do
          local place, told = place_at(position)
          if not place then break end
          if place > s[TOLD] then
            if not told or told == 0 then
              local near = waiter_at(position)
              if near[WHEN] == 0 then
                near[WHEN], near[CHANGED] = now, true
                if near ~= own then tell(near, 'near', ' ' .. sub(KEY, NAME_START, -2)) end
              end
            end
            s[TOLD] = place
          end
        end
      end
      moved = false

      if word == 'RELEASED' then
        word = max(0, capacity - s[USED]) + s[SIGNALS]
      elseif code == DELETE then
        word = seldom().delete()
      elseif known and ask_back(known, member) then
        -- The lock is about to become free.
        word = 'KEPT' .. holder(known)
      elseif unclaimed then
        word = code == TRY and 'BUSY' or 'QUEUED 1 ' .. int(max(1, min(NEAR_MS, r[WAIT] / 3, ceil((opens - now) / 1000) + 1)))
      elseif not word and r[TOKEN] > 0 then
        word = r[TEXT] and {int(r[TOKEN]), r[TEXT]} or r[TOKEN]
      elseif not word then
        if code == TRY then
          word = 'BUSY'
        else
          local position = s[QUEUE_APART] == 1 and others().position(r) or index_of(queue, r)
          local again = r[WAIT] / 3
          if r[WHEN] > 0 or position <= NEAR then again = min(NEAR_MS, again) end
          if position <= NEAR then
            local ends = FAR
            if s[HELD_APART] == 1 then
              ends = others().first_end(OF_HELD)
            else
              for _, one in ipairs(held) do
                ends = min(ends, type(one) == 'table' and one[WHEN] or unpack_struct('<d', state, starts[one] + 25))
              end
            end
            -- While the store grants nothing, no ticket is granted when a lease ends.
            if closed then ends = max(s[HOLDERS] > 0 and ends or 0, opens) end
            if ends < FAR then again = min(again, ceil((ends - now) / 1000) + 1) end
          end
          word = string.format('QUEUED %d %d', position, max(1, again))
        end
        if s[HOLDERS] > 0 then
          local first = eldest_holder()
          if ask_back(first, member) and code == TRY then word = 'KEPT' end
          word = word .. holder(first)
        end
        if code == TRY then
          take_waiter(r)
          records[ticket] = false
        elseif code == ACQUIRE then
          retain(r, 0)
        end
      end
      forget()
      replies[#replies + 1] = word
    end
  end
