  -- Rare cases. Each function is made on first use, and then replaced by one that returns the same table.

  if not plain then
  local reached, looked = false, false

  -- Must be called before any other key is read, and before anything is written or published.
  function reach()
    if not reached and not are_here() then error('TRYAGAIN a part of the keys is on its way', 0) end
    reached = true
  end

  local function all_of(list)
    local all = {}
    for i = 1, #list do all[i] = fetch(list, i) end
    return all
  end

  local function all_holders()
    return s[HELD_APART] == 1 and others().all(OF_TOKENS) or all_of(held)
  end

  local function all_waiters()
    return s[QUEUE_APART] == 1 and others().all(OF_QUEUE) or all_of(queue)
  end

  -- The available signals, in a sorted set: '<number> <text>' -> number. Consecutive signals with the same text are one
  -- entry: '<number>+<count> <text>'.
  function signalling()
    local x = {}
    signalling = function() return x end
    local SIGNALS_KEY = KEY .. OF_SIGNALS
    local first_count

    local function entry(number, count, text)
      return int(number) .. (count > 1 and '+' .. int(count) or '') .. ' ' .. text
    end

    function x.put(number, text, count)
      if s[SIGNALS] == 0 then
        -- Deletes signals of an earlier state, of which only the first key was removed.
        if call('ZCARD', SIGNALS_KEY) > 0 then call('DEL', SIGNALS_KEY) end
        s[EXPIRES] = 0
      end
      call('ZADD', SIGNALS_KEY, int(number), entry(number, count, text))
      s[SIGNALS] = s[SIGNALS] + count
    end

    function x.first()
      local number, count, text = string.match(call('ZRANGE', SIGNALS_KEY, 0, 0)[1] or '', '^(%d+)%+?(%d*) (.*)$')
      if not number then foreign('a signal is unreadable') end
      first_count = tonumber(count) or 1
      return tonumber(number), text
    end

    -- Takes the first signal.
    function x.take(number, text)
      -- In this order, or the key could lose its time to live.
      if first_count > 1 then call('ZADD', SIGNALS_KEY, int(number + 1), entry(number + 1, first_count - 1, text)) end
      call('ZREM', SIGNALS_KEY, entry(number, first_count, text))
      s[SIGNALS] = s[SIGNALS] - 1
    end

    return x
  end

  function seldom()
    local x = {}
    seldom = function() return x end

    local function drop_holder(r, returns)
      remove_holder(r)
      records[r[TICKET]] = false
      if returns and r[NUMBER] > 0 then signalling().put(r[NUMBER], r[TEXT], 1) end
    end

    -- After the clock was stepped back, no period may last longer than if it began now.
    local function step_back()
      s[LATEST] = 0
      for _, r in ipairs(all_holders()) do
        r[HEARD] = min(r[HEARD], now)
        lease_until(r, min(r[WHEN], now + (r[FLAG] == 1 and min(CLAIM_MS, r[HOLD]) or r[HOLD]) * 1000))
      end
      for _, r in ipairs(all_waiters()) do
        r[HEARD], r[WHEN], r[CHANGED] = min(r[HEARD], now), min(r[WHEN], now), true
        if s[QUEUE_APART] == 1 then others().stay(r) end
      end
      if s[TOMBS] > 0 then
        local ends = now + TOMB_MS * 1000
        local list = call('ZRANGE', KEY .. OF_GONE, 0, -1, 'WITHSCORES')
        for i = 1, #list, 2 do
          if tonumber(list[i + 1]) > ends then call('ZADD', KEY .. OF_GONE, int(ends), list[i]) end
        end
        s[TOMBS] = min(s[TOMBS], ends)
      end
      s[DUE] = 0
    end

    local function end_lease(r)
      if r[FLAG] ~= 1 or r[HEARD] + r[WAIT] * 1000 <= now then
        drop_holder(r, true)
      else
        remove_holder(r)
        -- A waiter that may have tried to claim the signal while the store granted nothing does not become quiet.
        local waits = r[NUMBER] > 0 and r[HEARD] > r[WHEN] - min(CLAIM_MS, r[HOLD]) * 1000
        if r[NUMBER] > 0 then signalling().put(r[NUMBER], r[TEXT], 1) end
        r[FLAG], r[WHEN], r[TOKEN], r[NUMBER], r[TEXT] = waits and 0 or 3, 0, 0, 0, nil
        put_waiter(r)
        if waits then s[TOLD] = min(s[TOLD], r[PLACE] - 1) end
      end
    end

    -- Ends what has expired: of `own`, then of at most `BATCH` holders and as many waiters. If more has expired, DUE is
    -- in the past.
    local function scan(own, releasing)
      s[DUE] = FAR
      local function pass(list, left)
        for _, r in ipairs(list) do
          local holds = r[TOKEN] > 0
          local ends = holds and r[WHEN] or r[HEARD] + r[WAIT] * 1000
          if ends > now or left == 0 or holds and releasing and r[TICKET] == own and r[FLAG] == 0 then
            s[DUE] = min(s[DUE], ends)
          else
            left = left - 1
            if holds then
              end_lease(r)
            else
              take_waiter(r)
              records[r[TICKET]] = false
            end
          end
        end
        return left
      end
      local r = s[HELD_APART] + s[QUEUE_APART] > 0 and find(own)
      local holds = r and r[TOKEN] > 0
      local left = pass(holds and {r} or {}, BATCH)
      if s[HELD_APART] == 1 then
        pass(others().ended(OF_HELD), left)
        s[DUE] = min(s[DUE], others().first_end(OF_HELD))
      else
        pass(all_of(held), left)
      end
      left = pass(r and not holds and {r} or {}, BATCH)
      if s[QUEUE_APART] == 1 then
        pass(others().ended(OF_WAITS), left)
        s[DUE] = min(s[DUE], others().first_end(OF_WAITS))
      else
        pass(all_of(queue), left)
      end
    end

    -- The first step of an operation: removes what has ended, except a plain holder that this operation releases.
    function x.prune(code, ticket, text)
      local tomb = code == RELEASE and #text > 32 and byte(text, 46) == 1
      if tomb or code == SIGNAL or s[TOMBS] + s[SIGNALS] + s[LENT] + s[HELD_APART] + s[QUEUE_APART] > 0 then
        reach()
        if renews then allow() end
      end
      -- `mend` runs only once, because changes are written at the end.
      if not looked and s[HELD_APART] + s[QUEUE_APART] > 0 then others().mend() end
      looked = true
      if s[SIGNALS] > 0 and call('ZCARD', KEY .. OF_SIGNALS) == 0 then s[SIGNALS] = 0 end
      if now < s[CLK] then step_back() end
      if s[TOMBS] > 0 then
        call('ZREMRANGEBYSCORE', KEY .. OF_GONE, '-inf', int(now))
        if s[TOMBS] <= now then s[TOMBS] = 0 end
      end
      if s[DUE] <= now then scan(ticket, code == RELEASE) end
      forget()
    end

    function x.bury(ticket)
      s[TOMBS] = now + TOMB_MS * 1000
      call('ZADD', KEY .. OF_GONE, int(s[TOMBS]), ticket)
    end

    function x.is_buried(ticket)
      return call('ZSCORE', KEY .. OF_GONE, ticket)
    end

    -- Tickets of a semaphore may come with several capacities, while a new version of a program is rolled out: the
    -- smallest counts, unless somebody asks for more units. Returns it, or no capacity, the reply, and the first
    -- holder.
    function x.agree(units, capacity, takes)
      -- A mutex takes no signal.
      local function is_semaphore(capacity, takes)
        return capacity + takes > 1 and capacity > 0 and capacity ~= RW_LOCK
      end
      local agrees, holders, least, given = is_semaphore(capacity, takes), all_holders(), FAR, nil
      for _, list in ipairs({holders, all_waiters()}) do
        for _, r in ipairs(list) do
          local own = unpack_struct('<I', r[REQUEST], CAPACITY_AT)
          if own < least then least, given = own, r end
          units, agrees = max(units, r[UNITS]), agrees and is_semaphore(own, r[MODE] % 2)
        end
      end
      local smallest = min(least, capacity)
      if agrees and units <= smallest then return smallest end
      return nil, string.format('MISMATCH %d %d', least, given[MODE] % 2), holders[1]
    end

    function x.operate(code, text, ticket)
      if code == ADOPT then return x.adopt(text, ticket) end
      if code == FORCE or code == KICK then
        -- False for FORCE.
        local token, count = code == KICK and unpack_struct('<d', text, 34), 0
        for _, r in ipairs(token and s[HELD_APART] == 1 and others().with_token(token) or all_holders()) do
          if not token or r[TOKEN] == token then
            tell(r, 'lost', ' ' .. sub(KEY, NAME_START, -2))
            drop_holder(r, true)
            -- No call is inside of a lock that is only kept.
            if token or r[MODE] < 4 then count = count + 1 end
          end
        end
        if token and count > 0 then
          -- Only people read it, so losing it does no harm.
          redis.pcall('SET', KEY .. OF_KICK, int(now) .. ' ' .. int(token) .. ' ' .. sub(text, 42), 'PX', SIGNALS_KEPT_MS)
        end
        return nil, nil, false, 'FREED ' .. count
      elseif code == RAISE then
        local r = find(ticket)
        if not r or r[TOKEN] == 0 or r[FLAG] == 2 then return nil, nil, false, 'GONE' end
        local token = unpack_struct('<d', text, 34)
        if r[TOKEN] < token then
          remove_holder(r)
          s[TOK] = max(token, s[TOK] + 1)
          r[TOKEN] = s[TOK]
          add_holder(r)
        end
        return r, nil, false
      elseif code == SIGNAL then
        -- Always call `is_buried`, so that a foreign key is found before anything is written.
        if x.is_buried(ticket) then return nil, nil, false, 'REFUSED' end
        local kind = byte(text, 34)
        local count = kind == 0 and 1 or max(0, s[WAITING] - s[SIGNALS])
        if kind == 1 then count = min(1, count) end
        if count > 0 then signalling().put(s[LAST] + 1, kind == 0 and sub(text, 35) or hex(ticket), count) end
        s[LAST] = s[LAST] + count
        if kind == 0 then
          s[KNOWN] = 1
          x.bury(ticket)
        end
        return nil, nil, false, 'SIGNALLED ' .. int(count)
      end
    end

    function x.adopt(text, ticket)
      local r = find(ticket)
      if s[TOMBS] > 0 and x.is_buried(ticket) then return r, r, false, 'REFUSED' end
      if r and r[FLAG] ~= 2 then return r, r, true end
      local old = not r and find(sub(text, 46, 61))
      if not old or old[TOKEN] == 0 or old[FLAG] == 2 then return r, r, false, 'GONE' end
      if closed then return nil, nil, false, 'BUSY' end
      local number, words, place = old[NUMBER], old[TEXT], old[PLACE]
      local request = sub(text, 1, 32) .. sub(old[REQUEST], 33, 33) .. sub(text, 34, 45) .. sub(old[REQUEST], 46, LONG_SIZE) .. sub(text, 62)
      drop_holder(old)
      s[TOK] = max(now, s[TOK] + 1)
      r = record_of(request, 0, place, now, 0, s[TOK], number, words)
      r[WHEN] = now + r[HOLD] * 1000
      retain(r, 0)
      add_holder(r)
      return r, r, false
    end

    function x.delete()
      if s[HOLDERS] + s[WAITING] > 0 then return 'IN_USE ' .. int(s[HOLDERS]) .. ' ' .. int(s[WAITING]) end
      local existed = s[KNOWN] == 1 or s[SIGNALS] > 0
      if s[SIGNALS] > 0 then call('DEL', KEY .. OF_SIGNALS) end
      s[KNOWN], s[SIGNALS], s[LAST] = 0, 0, 0
      return existed and 'DELETED 1' or 'DELETED 0'
    end

    -- Leaves out ended leases and places. Returns the token, the capacity, the used units, the number of signals,
    -- whether the name exists, the holders (by token) and the waiters (by place, which is the time when they came),
    -- each {ticket, member, units, takes, since when, token, meta, microseconds left, FLAG (4: its client keeps the
    -- lock, and no call is inside)}; and for an operator, the last kick.
    function x.inspect(above)
      if s[SIGNALS] + s[HELD_APART] + s[QUEUE_APART] > 0 then reach() end
      local used = 0
      local count = s[SIGNALS] > 0 and call('ZCARD', KEY .. OF_SIGNALS) > 0 and s[SIGNALS] or 0
      local holders, waiters = {}, above > 0 and above >= s[CAP] and {} or all_waiters()
      local function describe(r, ends)
        return {
          hex(r[TICKET]), hex(sub(r[REQUEST], 17, 32)), r[UNITS], r[MODE] % 2, int(r[TOKEN] > 0 and r[TOKEN] or r[PLACE]), int(r[TOKEN]),
          meta_of(r), int(ends - now), r[MODE] > 3 and 4 or r[FLAG],
        }
      end
      for _, r in ipairs(all_holders()) do
        if r[WHEN] <= now then
          if r[NUMBER] > 0 then count = count + 1 end
        else
          holders[#holders + 1] = describe(r, r[WHEN])
          if r[NUMBER] == 0 then used = used + r[UNITS] end
        end
      end
      table.sort(waiters, function(a, b) return a[PLACE] < b[PLACE] end)
      local waiting = {}
      for _, r in ipairs(waiters) do
        local ends = r[HEARD] + r[WAIT] * 1000
        if ends > now then waiting[#waiting + 1] = describe(r, ends) end
      end
      local kick = above == 0 and redis.pcall('GET', KEY .. OF_KICK)
      local exists = (s[KNOWN] == 1 or count > 0) and 1 or 0
      return {'INFO', int(s[TOK]), s[HOLDERS] + s[WAITING] > 0 and s[CAP] or '', used, count, exists, holders, waiting, type(kick) == 'string' and kick or ''}
    end

    -- The last step: moves tickets between the keys, and renews the time to live of the other keys.
    function x.settle(ms)
      -- While the slot migrates, tickets stay in their keys.
      if s[HELD_APART] + s[QUEUE_APART] > 0 or s[HOLDERS] > most or s[WAITING] > most then
        reached = reached or are_here()
        if reached then others().settle() end
      end
      local apart = s[HELD_APART] + s[QUEUE_APART] > 0
      if not apart and s[SIGNALS] == 0 then
        s[EXPIRES] = 0
      elseif s[EXPIRES] < now + (ms - KEPT_MS) * 1000 then
        -- Longer than needed, so that few operations have to set it.
        if apart then others().expire(ms) end
        if s[SIGNALS] > 0 then call('PEXPIRE', KEY .. OF_SIGNALS, ms) end
        s[EXPIRES] = now + ms * 1000
      end
      if s[TOMBS] > 0 then call('PEXPIRE', KEY .. OF_GONE, TOMB_MS) end
    end

    return x
  end
