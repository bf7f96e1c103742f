  local answer = replies[2] and replies or replies[1]
  if not changes then return answer end
  -- If the first waiters changed after the last check, the next operation checks them.
  if moved then s[TOLD] = 0 end
  local signals = s[SIGNALS] + s[LENT] > 0
  local ms = (signals and SIGNALS_KEPT_MS or KEPT_MS) + KEPT_MS + max(0, ceil((s[LATEST] - now) / 1000))
  if not plain then seldom().settle(ms) end
  -- If the clock was stepped back, TOK is later than now. The time to live counts from TOK, for its window: see
  -- head.lua.
  ms = int(ms + max(0, ceil((s[TOK] - now) / 1000)))

  local text
  local r = s[HOLDERS] == 1 and s[WAITING] + s[TOMBS] + s[SIGNALS] + s[LENT] + s[HELD_APART] == 0 and fetch(held, 1)
  if s[HOLDERS] + s[WAITING] + s[TOMBS] + s[SIGNALS] == 0 then
    if s[TOK] + s[KNOWN] == 0 then
      if state then call('DEL', KEY) end
      return answer
    end
    text = (s[KNOWN] == 1 and '3 i ' or '3 d ') .. pack('<d', s[TOK])
  elseif r and r[FLAG] == 0 and r[TOKEN] == s[TOK] and r[WHEN] == r[HEARD] + r[HOLD] * 1000 and s[CAP] == unpack_struct('<I', r[REQUEST], CAPACITY_AT)
    and r[HEARD] >= s[TOK] and r[HEARD] - s[TOK] < LONGEST_LATER then
    local later, request = r[HEARD] - s[TOK], r[REQUEST]
    if sub(request, 38, 41) == sub(request, 42, 45) and sub(request, 46, 53) == '\1\0\0\0\1\0\0\0' then
      request = sub(request, 1, 32) .. pack('B', byte(request, 33) - LONG) .. sub(request, 34, 41) .. sub(request, LONG_SIZE + 1)
    end
    text = (later == 0 and '3 s ' or '3 t ') .. pack('<d', s[TOK]) .. (later == 0 and '' or pack('<I6', later)) .. request
  else
    local parts, size, odd = {'', '', ''}, 0, closed and s[WAITING] > 0
    for _, list in ipairs({held, queue}) do
      for _, one in ipairs(list) do
        -- An unchanged record is copied as it is.
        local at = type(one) == 'table' and one[CHANGED] or one
        local part = at == true and text_of(one) or sub(state, starts[at], starts[at + 1] - 1)
        odd = odd or byte(part, 9) > 1
        parts[#parts + 1] = part
        if list == held then size = size + #part end
      end
    end
    s[SIZE] = size
    parts[1], parts[2] = '3 q ', pack('<dddddddddddd', unpack(s, 1, 12))
    for i = 13, 19 do odd = odd or s[i] > 0 end
    if odd or s[HOLDERS] == 0 or s[KNOWN] == 0 then parts[1], parts[3] = '3 f ', pack('<ddddddd', unpack(s, 13, 19)) end
    text = table.concat(parts)
  end
  if not allowed then
    local written = redis.pcall('SET', KEY, text, 'PX', ms)
    if not written.err then return answer end
    -- A full memory may deny an acquire, but not a release or a renewal.
    if not renews then error(written.err, 0) end
    allow()
  end
  call('SET', KEY, text, 'PX', ms)
  return answer
end

local ok, reply = pcall(run)
return ok and reply or failure(reply)
