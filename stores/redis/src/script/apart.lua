
  -- Holders or waiters that do not fit into the first key. They are in
  --   :tickets  hash: ticket -> RECORD
  --   :held     sorted set: ticket -> end of its lease
  --   :queue    sorted set: ticket -> place; for quiet waiters, place + 2^52
  function others()
    local x = {}
    others = function() return x end
    local TICKETS_KEY, HELD_KEY, QUEUE_KEY = KEY .. OF_TICKETS, KEY .. OF_HELD, KEY .. OF_QUEUE
    local stored, front = {}, nil

    local function score_of(r)
      return int(r[FLAG] == 3 and QUIET + r[PLACE] or r[PLACE])
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

    function x.all(suffix)
      local tickets = call('ZRANGE', KEY .. suffix, 0, -1)
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

    -- The place of a waiter, by its position; nil if the waiter is quiet or does not exist.
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

    function x.first_end()
      return tonumber(call('ZRANGE', HELD_KEY, 0, 0, 'WITHSCORES')[2]) or FAR
    end

    function x.eldest()
      if eldest == NOBODY then eldest = all_holders()[1][TICKET] end
      return need(eldest)
    end

    function x.hold(r)
      if s[HOLDERS] == 0 then s[EXPIRES] = 0 end
      call('ZADD', HELD_KEY, int(r[WHEN]), r[TICKET])
    end

    function x.let_go(r)
      call('ZREM', HELD_KEY, r[TICKET])
    end

    function x.wait(r)
      -- s[WAITING] already includes this waiter.
      if s[WAITING] == 1 then s[EXPIRES] = 0 end
      call('ZADD', QUEUE_KEY, score_of(r), r[TICKET])
      front = nil
    end

    function x.leave(r)
      call('ZREM', QUEUE_KEY, r[TICKET])
      front = nil
    end

    -- Deletes keys of an earlier state, of which only the first key was removed.
    local function clear()
      if call('EXISTS', TICKETS_KEY, HELD_KEY, QUEUE_KEY) == 0 then return end
      -- These calls fail if a key is foreign, that is, of another type.
      call('HLEN', TICKETS_KEY)
      call('ZCARD', HELD_KEY)
      call('ZCARD', QUEUE_KEY)
      call('DEL', TICKETS_KEY, HELD_KEY, QUEUE_KEY)
    end

    -- Removes the other keys if one of them was evicted or removed. Lost waiters ask again. If holders are lost,
    -- operations that change the name fail until the longest lease has ended.
    function x.mend()
      local here = call('HLEN', TICKETS_KEY)
      local held_here = s[HELD_APART] == 0 or call('ZCARD', HELD_KEY) == s[HOLDERS]
      local queue_here = s[QUEUE_APART] == 0 or call('ZCARD', QUEUE_KEY) == s[WAITING]
      if held_here and queue_here and here == s[HELD_APART] * s[HOLDERS] + s[QUEUE_APART] * s[WAITING] then return end
      if s[HELD_APART] == 1 then
        if now >= s[CLK] and now < s[CLK] + LONGEST_LEASE_MS * 1000 then foreign('a part of the state is missing') end
        s[HOLDERS], s[USED], s[LENT], s[OWNED], eldest = 0, 0, 0, 0, NOBODY
      end
      if s[QUEUE_APART] == 1 then s[WAITING], s[ASKING], s[TOLD] = 0, 0, 0 end
      s[HELD_APART], s[QUEUE_APART], s[EXPIRES], s[DUE] = 0, 0, 0, 0
      clear()
    end

    function x.settle()
      local drops, keeps = {}, {}
      -- Moves a list out of the first key, or back.
      local function balance(list, all, apart, count, least, key, value)
        if s[apart] == 0 and count > least then
          if s[HELD_APART] + s[QUEUE_APART] == 0 then clear() end
          for i = 1, #list do
            local r = fetch(list, i)
            call('ZADD', key, value(r), r[TICKET])
            r[CHANGED] = true
          end
          s[apart], s[EXPIRES] = 1, 0
          return {}
        elseif s[apart] == 1 and count <= few then
          list = all()
          for _, r in ipairs(list) do r[CHANGED] = true end
          call('DEL', key)
          s[apart] = 0
        end
        return list
      end
      held = balance(held, all_holders, HELD_APART, s[HOLDERS], max(1, most), HELD_KEY, function(r) return int(r[WHEN]) end)
      if s[HELD_APART] == 0 then eldest = NOBODY end
      queue = balance(queue, all_waiters, QUEUE_APART, s[WAITING], most, QUEUE_KEY, score_of)
      for ticket, r in pairs(records) do
        if not r or s[r[TOKEN] > 0 and HELD_APART or QUEUE_APART] == 0 then
          if stored[ticket] then drops[#drops + 1] = ticket end
        elseif r[CHANGED] == true then
          keeps[#keeps + 1] = ticket
          keeps[#keeps + 1] = text_of(r)
        end
      end
      -- In chunks, because unpack has a limit. First the kept records, else the hash could lose its time to live.
      for i = 1, #keeps, 1000 do call('HSET', TICKETS_KEY, unpack(keeps, i, min(i + 999, #keeps))) end
      for i = 1, #drops, 1000 do call('HDEL', TICKETS_KEY, unpack(drops, i, min(i + 999, #drops))) end
    end

    function x.expire(ms)
      call('PEXPIRE', TICKETS_KEY, ms)
      if s[HELD_APART] == 1 then call('PEXPIRE', HELD_KEY, ms) end
      if s[QUEUE_APART] == 1 then call('PEXPIRE', QUEUE_KEY, ms) end
    end

    return x
  end
  end
