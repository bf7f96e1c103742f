  local from, heard = single_from(form)
  if not state then
  elseif from then
    s[TOK] = unpack_struct('<d', state, 5)
    local r = record_of(long(sub(state, from)), 0, 0, heard, 0, s[TOK], 0)
    local ends = heard + r[HOLD] * 1000
    r[WHEN], held[1] = ends, r
    s[CAP], s[CLK], s[USED], s[DUE], s[LATEST], s[HOLDERS], s[KNOWN] = unpack_struct('<I', r[REQUEST], CAPACITY_AT), heard, r[UNITS], ends, ends, 1, 1
  elseif form == '3 q ' and #state >= QUEUE_START - 1 or form == '3 f ' and #state >= FULL_START - 1 then
    local at = QUEUE_START
    s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12] = unpack_struct('<dddddddddddd', state, 5)
    if form == '3 f ' then
      plain, at = false, FULL_START
      s[13], s[14], s[15], s[16], s[17], s[18], s[19] = unpack_struct('<ddddddd', state, QUEUE_START)
    end
    local here = s[HELD_APART] == 0 and s[HOLDERS] or 0
    for i = 1, here + (s[QUEUE_APART] == 0 and s[WAITING] or 0) do
      if at + RECORD_SIZE > #state then foreign('a record is unreadable') end
      starts[i] = at
      at = at + RECORD_SIZE + unpack_struct('<I', state, at)
      if i <= here then held[i] = i else queue[i - here] = i end
    end
    if at ~= #state + 1 then foreign('a record is unreadable') end
    starts[#starts + 1] = at
  elseif (form == '3 i ' or form == '3 d ') and #state == IDLE_SIZE then
    s[TOK], s[KNOWN] = unpack_struct('<d', state, 5), form == '3 i ' and 1 or 0
  else
    foreign(string.find(state, '^[12] [idsqf] ') and 'an older version of auto-mutex is in use' or 'the key holds something else')
  end
  local sum = s[SEQ] + s[CLK] + s[USED] + s[LATEST] + s[TOLD] + s[HOLDERS] + s[WAITING] + s[KNOWN]
  if not (sum >= 0 and sum <= 20 * FAR and s[TOK] >= 0 and s[TOK] < FAR and s[CAP] >= 0 and s[CAP] < FAR and s[DUE] >= 0) then
    foreign('the key holds something else')
  end
  moved = s[TOLD] == 0

  local cap = s[HOLDERS] + s[WAITING] > 0 and s[CAP]
  if now < s[CLK] or now >= s[DUE] or s[HOLDERS] >= MOST or s[WAITING] >= MOST then plain = false end
  for i = first, count do
    local code, text = operation(i)
    if code == RELEASE then
      renews, plain = true, plain and #text <= 32
    elseif code == TOUCH then
      renews = true
    elseif code == ACQUIRE or code == TRY then
      local own = unpack_struct('<I', text, CAPACITY_AT)
      cap = cap or own
      plain = plain and own == cap
    else
      plain, renews = false, renews or code ~= SIGNAL and code ~= INSPECT and code ~= PROBE and code ~= UNTIL and code ~= SPREAD
    end
  end
