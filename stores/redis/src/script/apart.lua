
  -- Holders or waiters that do not fit into the first key. They are in
  --   :tickets  hash: ticket -> RECORD
  --   :held     sorted set: ticket -> end of its lease
  --   :tokens   sorted set: ticket -> token, of the holders
  --   :queue    sorted set: ticket -> place; for quiet waiters, place + 2^52
  --   :waits    sorted set: ticket -> end of its place, of the waiters
  function others()
    local x = {}
    others = function() return x end
    local TICKETS_KEY, HELD_KEY, TOKENS_KEY = KEY .. OF_TICKETS, KEY .. OF_HELD, KEY .. OF_TOKENS
    local QUEUE_KEY, WAITS_KEY = KEY .. OF_QUEUE, KEY .. OF_WAITS
    local stored, front = {}, nil

    local function score_of(r)
      return int(r[FLAG] == 3 and QUIET + r[PLACE] or r[PLACE])
    end

    local function place_ends(r)
      return int(r[HEARD] + r[WAIT] * 1000)
    end

    local function read_stored(ticket, text)
      stored[ticket] = text and true
      records[ticket] = text and read(text, 1, #text)
      if text then records[ticket][CHANGED] = false end
      return records[ticket]
    end

    function x.find(ticket)
      return read_stored(ticket, call('HGET', TICKETS_KEY, ticket))
    end

    local function need(ticket)
      local r = records[ticket]
      if r == nil then r = x.find(ticket) end
      return r or foreign('a record is missing')
    end

    local function records_of(tickets)
      for from = 1, #tickets, 1000 do
        local to = min(from + 999, #tickets)
        local texts = call('HMGET', TICKETS_KEY, unpack(tickets, from, to))
        for i = from, to do
          local ticket, text = tickets[i], texts[i - from + 1]
          if records[ticket] == nil and text then read_stored(ticket, text) end
          tickets[i] = need(ticket)
        end
      end
      return tickets
    end

    function x.all(suffix)
      return records_of(call('ZRANGE', KEY .. suffix, 0, -1))
    end

    -- The first whose lease or place has ended: one more than an operation removes, because one may be spared.
    function x.ended(suffix)
      return records_of(call('ZRANGE', KEY .. suffix, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, BATCH + 1))
    end

    function x.with_token(token)
      return records_of(call('ZRANGE', TOKENS_KEY, int(token), int(token), 'BYSCORE'))
    end

    -- The place of the waiter at a position; nil if it is quiet or does not exist.
    function x.place(i)
      if not front then front = call('ZRANGE', QUEUE_KEY, 0, NEAR - 1, 'WITHSCORES') end
      local score = tonumber(front[2 * i])
      if score and score < QUIET then return score end
      if not score and i == 1 then foreign('the queue is missing') end
    end

    function x.waiter(i)
      return need(front[2 * i - 1])
    end

    function x.position(r)
      return (call('ZRANK', QUEUE_KEY, r[TICKET]) or foreign('the queue is missing')) + 1
    end

    function x.first_end(suffix)
      return tonumber(call('ZRANGE', KEY .. suffix, 0, 0, 'WITHSCORES')[2]) or FAR
    end

    function x.eldest()
      return need(call('ZRANGE', TOKENS_KEY, 0, 0)[1] or foreign('the holders are missing'))
    end

    function x.hold(r)
      if s[HOLDERS] == 0 then s[EXPIRES] = 0 end
      call('ZADD', HELD_KEY, int(r[WHEN]), r[TICKET])
    end

    function x.enter(r)
      x.hold(r)
      call('ZADD', TOKENS_KEY, int(r[TOKEN]), r[TICKET])
    end

    function x.let_go(r)
      call('ZREM', HELD_KEY, r[TICKET])
      call('ZREM', TOKENS_KEY, r[TICKET])
    end

    function x.wait(r)
      -- s[WAITING] already includes this waiter.
      if s[WAITING] == 1 then s[EXPIRES] = 0 end
      call('ZADD', QUEUE_KEY, score_of(r), r[TICKET])
      x.stay(r)
      front = nil
    end

    function x.stay(r)
      call('ZADD', WAITS_KEY, place_ends(r), r[TICKET])
    end

    function x.leave(r)
      call('ZREM', QUEUE_KEY, r[TICKET])
      call('ZREM', WAITS_KEY, r[TICKET])
      front = nil
    end

    -- Deletes the keys of an earlier state of which only the first key was removed.
    local function clear()
      local sets = {HELD_KEY, TOKENS_KEY, QUEUE_KEY, WAITS_KEY}
      if call('EXISTS', TICKETS_KEY, unpack(sets)) == 0 then return end
      -- These calls fail if a key is foreign, which means of another type.
      call('HLEN', TICKETS_KEY)
      for _, key in ipairs(sets) do call('ZCARD', key) end
      call('DEL', TICKETS_KEY, unpack(sets))
    end

    -- Removes the other keys if one of them was evicted or removed. Lost waiters ask again. If holders are lost,
    -- operations that change the name fail until the longest lease has ended.
    function x.mend()
      local here = call('HLEN', TICKETS_KEY)
      local function are_in(count, one, other)
        return call('ZCARD', one) == count and call('ZCARD', other) == count
      end
      local held_here = s[HELD_APART] == 0 or are_in(s[HOLDERS], HELD_KEY, TOKENS_KEY)
      local queue_here = s[QUEUE_APART] == 0 or are_in(s[WAITING], QUEUE_KEY, WAITS_KEY)
      if held_here and queue_here and here == s[HELD_APART] * s[HOLDERS] + s[QUEUE_APART] * s[WAITING] then return end
      if s[HELD_APART] == 1 then
        if now >= s[CLK] and now < s[CLK] + LONGEST_LEASE_MS * 1000 then foreign('a part of the state is missing') end
        s[HOLDERS], s[USED], s[LENT] = 0, 0, 0
      end
      if s[QUEUE_APART] == 1 then s[WAITING], s[TOLD] = 0, 0 end
      s[HELD_APART], s[QUEUE_APART], s[EXPIRES], s[DUE] = 0, 0, 0, 0
      clear()
    end

    function x.settle()
      local drops, keeps = {}, {}
      -- Moves a list out of the first key, or back.
      local function balance(list, all, apart, count, least, keys)
        if s[apart] == 0 and count > least then
          if s[HELD_APART] + s[QUEUE_APART] == 0 then clear() end
          for i = 1, #list do
            local r = fetch(list, i)
            for key, score in pairs(keys) do call('ZADD', key, score(r), r[TICKET]) end
            r[CHANGED] = true
          end
          s[apart], s[EXPIRES] = 1, 0
          return {}
        elseif s[apart] == 1 and count <= few then
          list = all()
          for _, r in ipairs(list) do r[CHANGED] = true end
          for key in pairs(keys) do call('DEL', key) end
          s[apart] = 0
        end
        return list
      end
      held = balance(held, all_holders, HELD_APART, s[HOLDERS], max(1, most), {
        [HELD_KEY] = function(r) return int(r[WHEN]) end, [TOKENS_KEY] = function(r) return int(r[TOKEN]) end,
      })
      queue = balance(queue, all_waiters, QUEUE_APART, s[WAITING], most, {[QUEUE_KEY] = score_of, [WAITS_KEY] = place_ends})
      for ticket, r in pairs(records) do
        if not r or s[r[TOKEN] > 0 and HELD_APART or QUEUE_APART] == 0 then
          if stored[ticket] then drops[#drops + 1] = ticket end
        elseif r[CHANGED] == true then
          keeps[#keeps + 1] = ticket
          keeps[#keeps + 1] = text_of(r)
        end
      end
      -- In chunks, because unpack has a limit. Kept records go first, or the hash could lose its time to live.
      for i = 1, #keeps, 1000 do call('HSET', TICKETS_KEY, unpack(keeps, i, min(i + 999, #keeps))) end
      for i = 1, #drops, 1000 do call('HDEL', TICKETS_KEY, unpack(drops, i, min(i + 999, #drops))) end
    end

    function x.expire(ms)
      call('PEXPIRE', TICKETS_KEY, ms)
      for _, key in ipairs(s[HELD_APART] == 1 and {HELD_KEY, TOKENS_KEY} or {}) do call('PEXPIRE', key, ms) end
      for _, key in ipairs(s[QUEUE_APART] == 1 and {QUEUE_KEY, WAITS_KEY} or {}) do call('PEXPIRE', key, ms) end
    end

    return x
  end
  end
