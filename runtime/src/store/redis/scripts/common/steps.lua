  -- Steps that most operations take.

  -- A new ticket, at the end of the queue.
  function s.enter(ticket, r)
    s.seq, s.known = s.seq + 1, 1
    -- (It will ask again soon by itself.)
    r.place, r.heard, r.told, r.token, r.number, r.flag, r.text = s.seq, now, now, 0, 0, 0, ''
    records[ticket] = r
    local token, _, number, text
    if s.waiting == 0 and not closed then token, _, number, text = offer(r) end
    if token then
      -- Granted at once, so it never waits.
      take(ticket, r, r.hold, token, number, text)
    else
      add_waiter(ticket, r.place)
    end
  end

  -- It would claim, but nothing is claimed while nothing is granted.
  local unclaimed = false

  -- A known ticket spoke; false if it is not known or only parked.
  function s.hear(ticket, counter, hold, wait)
    local r = s.record(ticket)
    if not r or r.flag == 2 then return false end
    r.counter = max(r.counter, tonumber(counter))
    r.heard, r.wait = now, tonumber(wait)
    changed[ticket] = true
    unclaimed = closed and r.flag == 1
    -- Nor is it taken back: its member may believe in it until it ends.
    if unclaimed then return true end
    r.hold = tonumber(hold)
    if r.token > 0 then
      r.flag = 0
      hold_until(ticket, now + r.hold * 1000)
    else
      s.due = min(s.due, place_ends(r))
      if r.flag == 3 then
        r.flag = 0
        call('ZADD', QUEUE, int(r.place), ticket)
      end
      r.told = 0
      s.told = min(s.told, r.place - 1)
      moved = true
    end
    return true
  end

  -- The reply to a ticket that is known.
  function s.standing(ticket)
    local r = need(ticket)
    if unclaimed then return {'QUEUED', 1, min(NEAR_MS, math.ceil((opens - now) / 1000) + 1), '', ''} end
    if r.number > 0 then return {'GRANTED', int(r.token), r.text} end
    if r.token > 0 then return 'GRANTED ' .. int(r.token) end
    local position = (call('ZRANK', QUEUE, ticket) or foreign('the queue is missing')) + 1
    local again = math.floor(r.wait / 3)
    if r.told > 0 then again = min(NEAR_MS, again) end
    if position <= NEAR then
      local ends = s.one and s.one_ends
      if held_by_many() then
        local _
        _, ends = pairs_of(call('ZRANGE', HELD, 0, 0, 'WITHSCORES'))()
      end
      -- Before the store opens, the end of a lease lets nobody in.
      if closed then ends = max(ends or 0, opens) end
      again = ends and min(NEAR_MS, math.ceil((ends - now) / 1000) + 1) or NEAR_MS
    end
    local eldest = s.one and need(s.one) or held_by_many() and s.rare().eldest()
    if not eldest then return {'QUEUED', position, max(1, again), '', ''} end
    return {'QUEUED', position, max(1, again), int(eldest.token), eldest.meta}
  end
