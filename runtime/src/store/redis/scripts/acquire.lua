-- Asks for units of a name: grants them, or joins the queue.
--
-- Keys: see common/base.lua.
-- Arguments: 2 opens  3 ticket  4 member  5 counter  6 units  7 capacity  8 takes ('1': a signal will do)  9 owner
--            10 hold_ms  11 place_ms  12 mode ('queue' or 'try')  13 meta
-- Replies: 'GRANTED <token>'  {'GRANTED', token, text of the signal}
--          {'QUEUED', position, again_ms, token of the holder, meta of the holder}
--          {'BUSY', token of the holder, meta of the holder}
--          'MISMATCH <capacity>'  'REFUSED'  'TOO_MANY'
--          error FOREIGN

local opens, ticket, member, counter, units, capacity, takes, owner, hold, place, mode, meta = unpack(ARGV, 2)
local now = clock()
local state = redis.call('GET', KEYS[1])

return guard(function()
  local s = open(now, tonumber(opens), state)
  s.prune()
  local reply
  local r = s.record(ticket)
  if takes ~= '1' and tonumber(units) > tonumber(capacity) then
    reply = 'TOO_MANY'
  elseif s.tombs > 0 and s.rare().is_buried(ticket) or r and r.flag == 2 then
    reply = 'REFUSED'
  elseif not r and s.holders + s.waiting > 0 and s.cap ~= tonumber(capacity) then
    reply = 'MISMATCH ' .. int(s.cap)
  end
  if reply then
    s.grant(member)
  else
    if not s.hear(ticket, counter, hold, place) then
      s.cap = tonumber(capacity)
      s.enter(ticket, {
        units = tonumber(units), hold = tonumber(hold), wait = tonumber(place), counter = tonumber(counter),
        takes = tonumber(takes), owner = owner, member = member, meta = meta,
      })
    end
    s.grant(member, ticket)
    reply = s.standing(ticket)
    if reply[1] == 'QUEUED' and mode == 'try' then
      s.rare().withdraw(ticket)
      reply = {'BUSY', reply[4], reply[5]}
    end
  end
  s.close()
  return reply
end)
