local function clock()
local time = redis.call('TIME')
return time[1] * 1000000 + time[2]
end
local redis, struct, sub, byte, KEYS, ARGV = redis, struct, string.sub, string.byte, KEYS, ARGV
local call, unpack_struct = redis.call, struct.unpack
local now, all, single
local base = 0
if KEYS[2] then
all, now, base = {}, clock(), 1
end
for key = 1, #KEYS do
local KEY, text, reply = KEYS[key], ARGV[base + 1], nil
local count = all and byte(ARGV[1], key) or #ARGV
local state = redis.pcall('GET', KEY)
local free, freed
if not state then
free = 0
elseif #state == 12 then
local form, tok = unpack_struct('<c4d', state)
if form == '3 i ' then free = tok end
elseif #state >= 53 then
local form, tok = unpack_struct('<c4d', state)
local from = form == '3 s ' and 13 or form == '3 t ' and 19
local code = from and byte(state, from + 32)
local long = code and code % (2 * 16) >= 16
if from and #state - from >= (long and 53 or 41) - 1 then
local size = #text
if size == 32 or size == 16 then
if count < 3 and sub(state, from, from + size - 1) == text then
local capacity = long and unpack_struct('<I', state, from + 49) or 1
if count == 2 then
text, free, freed = ARGV[base + 2], tok, capacity
elseif not redis.pcall('SET', KEY, '3 i ' .. sub(state, 5, 12), 'KEEPTTL').err then
reply = capacity
end
end
elseif size == 41 and count == 1 and byte(text, 33) == 116 and sub(state, from, from + 15) == sub(text, 1, 16) then
local last, lease = unpack_struct('<II', state, from + 33)
local counter, hold = unpack_struct('<II', text, 34)
local heard = from == 13 and tok or tok + unpack_struct('<I6', state, 13)
now = now or clock()
if code % 8 < 2 and counter >= last and hold <= 300000 and now >= heard and now < heard + lease * 1000 and now - tok < 281474976710656
and not redis.pcall('SET', KEY, '3 t ' .. sub(state, 5, 12) .. struct.pack('<I6', now - tok) .. sub(state, from, from + 32)
.. sub(text, 34) .. (long and sub(text, 38) or '') .. sub(state, from + (long and 45 or 41)), 'PX', '1200000').err then
reply = tok
end
end
end
end
if free and count == (freed and 2 or 1) and #text >= 41 then
local code, _, hold = unpack_struct('<BII', text, 33)
if code >= 64 and code < 64 + 2 * 16 then
local units, capacity = 1, 1
if code % (2 * 16) >= 16 then units, capacity = unpack_struct('<II', text, 46) end
now = now or clock()
if free < now and units <= capacity and hold <= 300000 then
single = single or '3 s ' .. struct.pack('<d', now)
local written
if free > 0 and now - free <= now % 256000000 then
written = redis.pcall('SET', KEY, single .. text, 'KEEPTTL')
else
written = redis.pcall('SET', KEY, single .. text, 'PX', '1200000')
end
if not written.err then reply = freed and freed ~= capacity and {freed, now} or now end
end
end
end
if not reply then
now = now or clock()
local pack, max, min = struct.pack, math.max, math.min
local function failure(cause)
local text = tostring(type(cause) == 'table' and cause.err or cause)
if string.find(text, 'WRONGTYPE', 1, true) then text = 'FOREIGN a key of this name is of another type' end
return redis.error_reply((string.gsub(text, '^%-', '')))
end
local function hex(id)
return string.format('%08x%08x%08x%08x', unpack_struct('>IIII', id))
end
local function rest()
local function publish(member, text)
return call('PUBLISH', 'auto_mutex:member:' .. hex(member), text)
end
local function are_here()
return true
end
local function seal(word, ticket, after)
ticket = hex(ticket)
local text = word .. ' ' .. sub(ticket, 1, 16)
return text .. sub(redis.sha1hex(ticket .. text .. after), 1, 16) .. after
end
local function long(text)
local code = byte(text, 33)
if code == 116 then return #text > 41 and text or text .. sub(text, 38, 41) .. '\0\0\0\0\0' end
if code % (2 * 16) >= 16 then return text end
return sub(text, 1, 32) .. pack('B', code + 16) .. sub(text, 34, 41) .. sub(text, 38, 41) .. '\1\0\0\0\1\0\0\0' .. sub(text, 42)
end
local function operation(i)
local text = ARGV[base + i]
local ticket, member = sub(text, 1, 16), sub(text, 17, 32)
if #text == 16 then member = sub(ARGV[base + i + 1] or '', 17, 32) end
local code = byte(text, 33) or #text > 9 and 114 or byte(text)
if code >= 64 and code < 64 + 2 * 16 then return code % 16 > 7 and 72 or 64, long(text), ticket, member end
return code, code == 116 and long(text) or text, ticket, member
end
local function single_from(form)
local from = form == '3 s ' and 13 or form == '3 t ' and 19
local code = from and byte(state, from + 32)
if not code or #state - from < (code % (2 * 16) >= 16 and 53 or 41) - 1 then return end
local heard = unpack_struct('<d', state, 5)
if from == 19 then heard = heard + unpack_struct('<I6', state, 13) end
return from, heard
end
local form = state and sub(state, 1, 4)
local replies, first = {}, 1
local function cut()
local function write(text)
return not redis.pcall('SET', KEY, text, 'PX', '1200000').err
end
local function holder(from)
local length, token = unpack_struct('<I', from, 101), unpack_struct('<d', from, 101 + 33)
return string.format(' %d%09d %s', token / 1000000000, token % 1000000000, sub(from, 101 + 42 + 53, 101 + 42 - 1 + length))
end
local function queued(from, queue, position, again)
if position <= 3 then
local ends, at = 9007199254740992, 101
while at < queue do
local bytes, _, _, _, _, lease = unpack_struct('<IIBddd', from, at)
ends, at = min(ends, lease), at + 42 + bytes
end
again = min(1100, again, math.ceil((ends - now) / 1000) + 1)
end
return string.format('QUEUED %d %d', position, max(1, again)) .. holder(from)
end
while first <= count do
local code, text, ticket, member = operation(first)
local reply
form = state and sub(state, 1, 4)
repeat
local tok, cap, seq, clk, used, due, latest, told, holders, waiting, known, size
local from = state
if form == '3 q ' and #state >= 101 then
tok, cap, seq, clk, used, due, latest, told, holders, waiting, known, size = unpack_struct('<dddddddddddd', state, 5)
if told == 0 and waiting > 0 then break end
else
if not state or code ~= 64 and code ~= 72 then break end
local at
at, clk = single_from(form)
if not at then break end
local request, hold, _ = long(sub(state, at))
tok = unpack_struct('<d', state, 5)
hold, _, used, cap = unpack_struct('<IIII', request, 38)
due = clk + hold * 1000
latest, seq, told, holders, waiting, known, size = due, 0, 0, 1, 0, 1, 42 + #request
from = string.rep(' ', 101 - 1) .. pack('<IIBddddB', #request, 0, 0, 0, clk, due, tok, 31) .. request
end
if not (now >= clk and now < due and latest <= now + 300000 * 1000 and tok <= now + 256000000 and holders > 0) then break end
local queue = 101 + size
if code == 64 or code == 72 then
local kind, _, hold, wait, units, capacity = unpack_struct('<BIIIII', text, 33)
if capacity ~= cap or units > cap or hold > 300000
or holders + waiting >= 24 or string.find(from, '\31' .. ticket, 101, true) then
break
end
local room = waiting == 0 and used + units <= cap
if not room and byte(from, 175) % 8 > 1 then break end
if not room and code == 72 then
reply = 'BUSY' .. holder(from)
break
end
local ends, granted, when, layout, rest = now + wait * 1000, 0, now, '<IIBddddB', text
seq = max(now, seq + 1)
if room then
tok = max(now, tok + 1)
ends, granted = now + hold * 1000, tok
when, holders, used, size = ends, holders + 1, used + units, size + 42 + #text
latest, reply = max(latest, ends), tok
else
waiting = waiting + 1
if kind % 8 > 1 then layout, rest = '<IIBddddBc32B', sub(text, 34) end
if waiting <= 3 then told = seq end
reply = queued(from, queue, waiting, min(1100, wait / 3))
end
local new = '3 q ' .. pack('<dddddddddddd', tok, cap, seq, now, used, min(due, ends), latest, told, holders, waiting, 1, size)
.. sub(from, 101) .. pack(layout, #text, 0, 0, seq, now, when, granted, 31, text, kind - kind % 8 + kind % 2) .. rest
if write(new) then state = new else reply = nil end
break
end
if code ~= 116 and (code ~= 114 or #text > 32) then break end
local start = string.find(state, '\31' .. ticket, 101, true)
if not start then break end
start = start - 42 + 1
local bytes, _, flag, place, _, when, token = unpack_struct('<IIBdddd', state, start)
local after = start + 42 + bytes
if code == 116 then
local kind, last = unpack_struct('<BI', state, start + 74)
local counter, hold, wait, units, mark = unpack_struct('<IIIIB', text, 34)
if counter < last or units ~= 0 or hold > 300000 then break end
local ends
if token > 0 then
if kind % 8 > 1 or mark > 0 then break end
ends, flag, reply = now + hold * 1000, 0, token
when, latest = ends, max(latest, ends)
else
if byte(state, 175) % 8 > 1 then break end
ends, when = now + wait * 1000, 0
local position, at = 1, queue
while at < start do
position, at = position + 1, at + 42 + unpack_struct('<I', state, at)
end
if position <= 3 then when = now end
reply = queued(state, queue, position, wait / 3)
end
local new = '3 q ' .. pack('<dddddddddddd', tok, cap, seq, now, used, min(due, ends), latest, told, holders, waiting, 1, size)
.. sub(state, 101, start - 1) .. pack('<IIBddddB', bytes, 0, flag, place, now, when, token, 31)
.. sub(state, start + 42, start + 74) .. sub(text, 34, 45) .. sub(state, start + 87)
if write(new) then state = new else reply = nil end
break
end
local held, rest, left = '', queue, ''
local to, granted, message
if start >= queue then
if start == queue and waiting > 1 and used + unpack_struct('<I', state, after + 87) <= cap then break end
reply, waiting, held = 'CANCELLED', waiting - 1, sub(state, 101, queue - 1)
left, rest = sub(state, queue, start - 1), after
else
used, holders, size = used - unpack_struct('<I', state, start + 87), holders - 1, size - (after - start)
if holders > 0 then held = sub(state, 101, start - 1) .. sub(state, after, queue - 1) end
if waiting > 0 then
local bytes, _, _, place, heard, told = unpack_struct('<IIBddd', state, queue)
local counter, hold, _, units = unpack_struct('<IIII', state, queue + 75)
if used + units <= cap then
rest, to = queue + 42 + bytes, sub(state, queue + 58, queue + 73)
if waiting > 1 and used + units + unpack_struct('<I', state, rest + 87) <= cap
or units == cap and to ~= member and now - max(heard, told) > 2000 * 1000 then
break
end
tok, hold = max(now, tok + 1), min(2000, hold)
local ends = now + hold * 1000
held = held .. pack('<IIBddddB', bytes, 0, 1, place, heard, ends, tok, 31) .. sub(state, queue + 42, rest - 1)
used, holders, waiting, due, size = used + units, holders + 1, waiting - 1, min(due, ends), size + 42 + bytes
granted = sub(state, queue + 42, queue + 57)
message = string.format(' %d%09d %d %d ', tok / 1000000000, tok % 1000000000, counter, hold)
end
end
if holders == 0 then
local idle = '3 i ' .. sub(state, 5, 12)
if waiting == 0 and tok <= now and write(idle) then state, reply = idle, cap end
break
end
reply = max(0, cap - used)
end
local near
if waiting >= 3 then
local third = left == '' and rest or queue
for _ = 2, 3 do
third = third + 42 + unpack_struct('<I', state, third)
if third == start then third = after end
end
local bytes, _, _, place, heard, when = unpack_struct('<IIBddd', state, third)
told = max(told, place)
if when == 0 then
near = third + 42
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
local name = sub(KEY, 13, -2)
if to and publish(to, seal('grant', granted, message .. name)) == 0 then
call('SET', KEY, state, 'PX', '1200000')
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
local function run()
local ceil, insert, remove = math.ceil, table.insert, table.remove
local s = {0, 0, 0, 0, 0, 9007199254740992, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
local held, queue, starts = {}, {}, {}
local records = {}
local opens, closed, renews, plain = 0, false, false, true
local moved, allowed = false, false
local most, few = 24, 12
local reach, others, signalling, seldom
local function foreign(what)
error('FOREIGN ' .. what, 0)
end
local function int(number)
if number < 1000000000 then return string.format('%d', number) end
return string.format('%d%09d', number / 1000000000, number % 1000000000)
end
local function record_of(request, flag, place, heard, time, token, number, text)
local code, counter, hold, wait, units = unpack_struct('<BIIII', request, 33)
local sum, mode = place + heard + time + token + number, code % 8
if not (sum >= 0 and sum <= 5 * 9007199254740992 and token >= 0 and token <= s[1] and mode <= 5 and code >= 64 + 16 and code < 64 + 2 * 16) then
foreign('a record is unreadable')
end
local ticket = sub(request, 1, 16)
local r = {flag, place, heard, time, token, number, ticket, request, hold, wait, units, mode, counter, true, text}
records[ticket] = r
return r
end
local function read(text, start, stop)
if stop - start + 1 < 42 then foreign('a record is unreadable') end
local size, signal, flag, place, heard, time, token, mark = unpack_struct('<IIBddddB', text, start)
local from = start + 42
if mark ~= 31 or flag > 3 or from + size ~= stop + 1 or size - signal < 53 then foreign('a record is unreadable') end
if signal == 0 then return record_of(sub(text, from, stop), flag, place, heard, time, token, 0) end
if signal < 8 then foreign('a record is unreadable') end
local number, next = unpack_struct('<d', text, stop - signal + 1)
return record_of(sub(text, from, stop - signal), flag, place, heard, time, token, number, sub(text, next, stop))
end
local function fetch(list, i)
local r = list[i]
if type(r) == 'number' then
r = read(state, starts[r], starts[r + 1] - 1)
if (list == held) ~= (r[5] > 0) then foreign('a record is unreadable') end
list[i], r[14] = r, list[i]
end
return r
end
local function index_of(list, one)
for i = 1, #list do
if list[i] == one then return i end
end
foreign('a record is missing')
end
local function find(ticket)
local r = records[ticket]
if r ~= nil then return r end
if starts[1] and string.find(state, '\31' .. ticket, starts[1], true) then
for _, list in ipairs({held, queue}) do
for i = 1, #list do
local at = starts[list[i]]
if at and sub(state, at + 42, at + 42 + 15) == ticket then return fetch(list, i) end
end
end
end
return s[18] + s[19] > 0 and others().find(ticket)
end
local function place_at(i)
if s[19] == 1 then return others().place(i) end
local r = queue[i]
if not r then return end
if type(r) == 'table' then
if r[1] ~= 3 then return r[2], r[4] end
else
local flag, place, _, told = unpack_struct('<Bddd', state, starts[r] + 8)
if flag ~= 3 then return place, told end
end
end
local function eldest_holder()
return s[18] == 0 and fetch(held, 1) or others().eldest()
end
local function meta_of(r)
return sub(r[8], 53 + 1)
end
local function holder(r)
return ' ' .. int(r[5]) .. ' ' .. meta_of(r)
end
local function waiter_at(i)
return s[19] == 1 and others().waiter(i) or fetch(queue, i)
end
local function add_holder(r)
if r[6] > 0 then s[17] = s[17] + 1 else s[5] = s[5] + r[11] end
r[14] = true
if s[18] == 1 then others().enter(r) else held[#held + 1] = r end
s[9], s[6], s[7] = s[9] + 1, min(s[6], r[4]), max(s[7], r[4])
end
local function remove_holder(r)
if r[6] > 0 then s[17] = max(0, s[17] - 1) else s[5] = max(0, s[5] - r[11]) end
if s[18] == 1 then others().let_go(r) else remove(held, index_of(held, r)) end
s[9] = max(0, s[9] - 1)
end
local function put_waiter(r)
r[14], moved = true, true
s[10], s[6] = s[10] + 1, min(s[6], r[3] + r[10] * 1000)
if s[19] == 1 then return others().wait(r) end
local i = #queue + 1
if r[1] == 3 then
while i > 1 and not place_at(i - 1) and r[2] < fetch(queue, i - 1)[2] do i = i - 1 end
else
while i > 1 and (place_at(i - 1) or 9007199254740992) > r[2] do i = i - 1 end
end
insert(queue, i, r)
end
local function take_waiter(r)
moved = true
s[10] = max(0, s[10] - 1)
if s[19] == 1 then others().leave(r) else remove(queue, index_of(queue, r)) end
end
local function tell(r, word, after)
return publish(sub(r[8], 17, 32), seal(word, r[7], after))
end
local function allow()
if not allowed then call('PEXPIRE', KEY, '1200000') end
allowed = true
end
local function give(member, own, r, number, text)
local hold, flag = r[9], 0
local token = max(now, s[1] + 1)
if r ~= own then
hold, flag = min(2000, hold), 1
local alone = number == 0 and r[11] == s[2]
local deaf = alone and now - max(r[3], r[4]) > 2000 * 1000 and sub(r[8], 17, 32) ~= member
if not deaf then
allow()
local after = ' ' .. int(token) .. ' ' .. int(r[13]) .. ' ' .. int(hold) .. ' ' .. sub(KEY, 13, -2)
deaf = tell(r, 'grant', text and after .. ' ' .. text or after) == 0
end
if deaf then
r[4], r[14] = 0, true
return false
end
end
take_waiter(r)
r[1], r[5], r[4], r[6], r[15] = flag, token, now + hold * 1000, number, text
if number > 0 then signalling().take(number, text) end
s[1] = token
add_holder(r)
return true
end
local function text_of(r)
local signal = r[15] and pack('<d', r[6]) .. r[15] or ''
return pack('<IIBddddB', #r[8] + #signal, #signal, r[1], r[2], r[3], r[4], r[5], 31) .. r[8] .. signal
end
local function ask(r, counter, hold, wait, units)
r[13], r[9], r[10], r[11], r[14] = counter, hold, wait, units, true
r[8] = sub(r[8], 1, 33) .. pack('<IIII', counter, hold, wait, units) .. sub(r[8], 50)
end
local function retain(r, mark)
local mode = r[12] % 2 + 2 * mark
if mode == r[12] then return end
r[8] = sub(r[8], 1, 32) .. pack('B', byte(r[8], 33) - r[12] + mode) .. sub(r[8], 34)
r[12], r[14] = mode, true
end
local function ask_back(r, member)
if s[9] > 1 or r[12] < 2 or sub(r[8], 17, 32) == member then return false end
tell(r, 'recall', ' ' .. sub(KEY, 13, -2))
return r[12] > 3
end
local function lease_until(r, ends)
r[4], r[14] = ends, true
s[6], s[7] = min(s[6], ends), max(s[7], ends)
if s[18] == 1 then others().hold(r) end
end
local function forget()
if s[9] + s[10] == 0 then
s[2], s[3], s[5], s[8], s[6], s[7] = 0, 0, 0, 0, 9007199254740992, 0
end
if s[15] + s[17] == 0 then s[16] = 0 end
end
local from, heard = single_from(form)
if not state then
elseif from then
s[1] = unpack_struct('<d', state, 5)
local r = record_of(long(sub(state, from)), 0, 0, heard, 0, s[1], 0)
local ends = heard + r[9] * 1000
r[4], held[1] = ends, r
s[2], s[4], s[5], s[6], s[7], s[9], s[11] = unpack_struct('<I', r[8], 50), heard, r[11], ends, ends, 1, 1
elseif form == '3 q ' and #state >= 101 - 1 or form == '3 f ' and #state >= 157 - 1 then
local at = 101
s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12] = unpack_struct('<dddddddddddd', state, 5)
if form == '3 f ' then
plain, at = false, 157
s[13], s[14], s[15], s[16], s[17], s[18], s[19] = unpack_struct('<ddddddd', state, 101)
end
local here = s[18] == 0 and s[9] or 0
for i = 1, here + (s[19] == 0 and s[10] or 0) do
if at + 42 > #state then foreign('a record is unreadable') end
starts[i] = at
at = at + 42 + unpack_struct('<I', state, at)
if i <= here then held[i] = i else queue[i - here] = i end
end
if at ~= #state + 1 then foreign('a record is unreadable') end
starts[#starts + 1] = at
elseif (form == '3 i ' or form == '3 d ') and #state == 12 then
s[1], s[11] = unpack_struct('<d', state, 5), form == '3 i ' and 1 or 0
else
foreign(string.find(state, '^[12] [idsqf] ') and 'an older version of auto-mutex is in use' or 'the key holds something else')
end
local sum = s[3] + s[4] + s[5] + s[7] + s[8] + s[9] + s[10] + s[11]
if not (sum >= 0 and sum <= 20 * 9007199254740992 and s[1] >= 0 and s[1] < 9007199254740992 and s[2] >= 0 and s[2] < 9007199254740992 and s[6] >= 0) then
foreign('the key holds something else')
end
moved = s[8] == 0
local cap = s[9] + s[10] > 0 and s[2]
if now < s[4] or now >= s[6] or s[9] >= 24 or s[10] >= 24 then plain = false end
for i = first, count do
local code, text = operation(i)
if code == 114 then
renews, plain = true, plain and #text <= 32
elseif code == 116 then
renews = true
elseif code == 64 or code == 72 then
local own = unpack_struct('<I', text, 50)
cap = cap or own
plain = plain and own == cap
else
plain, renews = false, renews or code ~= 115 and code ~= 63 and code ~= 112 and code ~= 117 and code ~= 111
end
end
if not plain then
local reached, looked = false, false
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
return s[18] == 1 and others().all(':tokens') or all_of(held)
end
local function all_waiters()
return s[19] == 1 and others().all(':queue') or all_of(queue)
end
function signalling()
local x = {}
signalling = function() return x end
local SIGNALS_KEY = KEY .. ':signals'
local first_count
local function entry(number, count, text)
return int(number) .. (count > 1 and '+' .. int(count) or '') .. ' ' .. text
end
function x.put(number, text, count)
if s[15] == 0 then
if call('ZCARD', SIGNALS_KEY) > 0 then call('DEL', SIGNALS_KEY) end
s[14] = 0
end
call('ZADD', SIGNALS_KEY, int(number), entry(number, count, text))
s[15] = s[15] + count
end
function x.first()
local number, count, text = string.match(call('ZRANGE', SIGNALS_KEY, 0, 0)[1] or '', '^(%d+)%+?(%d*) (.*)$')
if not number then foreign('a signal is unreadable') end
first_count = tonumber(count) or 1
return tonumber(number), text
end
function x.take(number, text)
if first_count > 1 then call('ZADD', SIGNALS_KEY, int(number + 1), entry(number + 1, first_count - 1, text)) end
call('ZREM', SIGNALS_KEY, entry(number, first_count, text))
s[15] = s[15] - 1
end
return x
end
function seldom()
local x = {}
seldom = function() return x end
local function drop_holder(r, returns)
remove_holder(r)
records[r[7]] = false
if returns and r[6] > 0 then signalling().put(r[6], r[15], 1) end
end
local function step_back()
s[7] = 0
for _, r in ipairs(all_holders()) do
r[3] = min(r[3], now)
lease_until(r, min(r[4], now + (r[1] == 1 and min(2000, r[9]) or r[9]) * 1000))
end
for _, r in ipairs(all_waiters()) do
r[3], r[4], r[14] = min(r[3], now), min(r[4], now), true
if s[19] == 1 then others().stay(r) end
end
if s[13] > 0 then
local ends = now + 30000 * 1000
local list = call('ZRANGE', KEY .. ':gone', 0, -1, 'WITHSCORES')
for i = 1, #list, 2 do
if tonumber(list[i + 1]) > ends then call('ZADD', KEY .. ':gone', int(ends), list[i]) end
end
s[13] = min(s[13], ends)
end
s[6] = 0
end
local function end_lease(r)
if r[1] ~= 1 or r[3] + r[10] * 1000 <= now then
drop_holder(r, true)
else
remove_holder(r)
local waits = r[6] > 0 and r[3] > r[4] - min(2000, r[9]) * 1000
if r[6] > 0 then signalling().put(r[6], r[15], 1) end
r[1], r[4], r[5], r[6], r[15] = waits and 0 or 3, 0, 0, 0, nil
put_waiter(r)
if waits then s[8] = min(s[8], r[2] - 1) end
end
end
local function scan(own, releasing)
s[6] = 9007199254740992
local function pass(list, left)
for _, r in ipairs(list) do
local holds = r[5] > 0
local ends = holds and r[4] or r[3] + r[10] * 1000
if ends > now or left == 0 or holds and releasing and r[7] == own and r[1] == 0 then
s[6] = min(s[6], ends)
else
left = left - 1
if holds then
end_lease(r)
else
take_waiter(r)
records[r[7]] = false
end
end
end
return left
end
local r = s[18] + s[19] > 0 and find(own)
local holds = r and r[5] > 0
local left = pass(holds and {r} or {}, 50)
if s[18] == 1 then
pass(others().ended(':held'), left)
s[6] = min(s[6], others().first_end(':held'))
else
pass(all_of(held), left)
end
left = pass(r and not holds and {r} or {}, 50)
if s[19] == 1 then
pass(others().ended(':waits'), left)
s[6] = min(s[6], others().first_end(':waits'))
else
pass(all_of(queue), left)
end
end
function x.prune(code, ticket, text)
local tomb = code == 114 and #text > 32 and byte(text, 46) == 1
if tomb or code == 115 or s[13] + s[15] + s[17] + s[18] + s[19] > 0 then
reach()
if renews then allow() end
end
if not looked and s[18] + s[19] > 0 then others().mend() end
looked = true
if s[15] > 0 and call('ZCARD', KEY .. ':signals') == 0 then s[15] = 0 end
if now < s[4] then step_back() end
if s[13] > 0 then
call('ZREMRANGEBYSCORE', KEY .. ':gone', '-inf', int(now))
if s[13] <= now then s[13] = 0 end
end
if s[6] <= now then scan(ticket, code == 114) end
forget()
end
function x.bury(ticket)
s[13] = now + 30000 * 1000
call('ZADD', KEY .. ':gone', int(s[13]), ticket)
end
function x.is_buried(ticket)
return call('ZSCORE', KEY .. ':gone', ticket)
end
function x.agree(units, capacity, takes)
local function is_semaphore(capacity, takes)
return capacity + takes > 1 and capacity > 0 and capacity ~= 1073741824
end
local agrees, holders, least, given = is_semaphore(capacity, takes), all_holders(), 9007199254740992, nil
for _, list in ipairs({holders, all_waiters()}) do
for _, r in ipairs(list) do
local own = unpack_struct('<I', r[8], 50)
if own < least then least, given = own, r end
units, agrees = max(units, r[11]), agrees and is_semaphore(own, r[12] % 2)
end
end
local smallest = min(least, capacity)
if agrees and units <= smallest then return smallest end
return nil, string.format('MISMATCH %d %d', least, given[12] % 2), holders[1]
end
function x.operate(code, text, ticket)
if code == 100 then return x.adopt(text, ticket) end
if code == 102 or code == 107 then
local token, count = code == 107 and unpack_struct('<d', text, 34), 0
for _, r in ipairs(token and s[18] == 1 and others().with_token(token) or all_holders()) do
if not token or r[5] == token then
tell(r, 'lost', ' ' .. sub(KEY, 13, -2))
drop_holder(r, true)
if token or r[12] < 4 then count = count + 1 end
end
end
if token and count > 0 then
redis.pcall('SET', KEY .. ':kick', int(now) .. ' ' .. int(token) .. ' ' .. sub(text, 42), 'PX', 86400000)
end
return nil, nil, false, 'FREED ' .. count
elseif code == 105 then
local r = find(ticket)
if not r or r[5] == 0 or r[1] == 2 then return nil, nil, false, 'GONE' end
local token = unpack_struct('<d', text, 34)
if r[5] < token then
remove_holder(r)
s[1] = max(token, s[1] + 1)
r[5] = s[1]
add_holder(r)
end
return r, nil, false
elseif code == 115 then
if x.is_buried(ticket) then return nil, nil, false, 'REFUSED' end
local kind = byte(text, 34)
local count = kind == 0 and 1 or max(0, s[10] - s[15])
if kind == 1 then count = min(1, count) end
if count > 0 then signalling().put(s[16] + 1, kind == 0 and sub(text, 35) or hex(ticket), count) end
s[16] = s[16] + count
if kind == 0 then
s[11] = 1
x.bury(ticket)
end
return nil, nil, false, 'SIGNALLED ' .. int(count)
end
end
function x.adopt(text, ticket)
local r = find(ticket)
if s[13] > 0 and x.is_buried(ticket) then return r, r, false, 'REFUSED' end
if r and r[1] ~= 2 then return r, r, true end
local old = not r and find(sub(text, 46, 61))
if not old or old[5] == 0 or old[1] == 2 then return r, r, false, 'GONE' end
if closed then return nil, nil, false, 'BUSY' end
local number, words, place = old[6], old[15], old[2]
local request = sub(text, 1, 32) .. sub(old[8], 33, 33) .. sub(text, 34, 45) .. sub(old[8], 46, 53) .. sub(text, 62)
drop_holder(old)
s[1] = max(now, s[1] + 1)
r = record_of(request, 0, place, now, 0, s[1], number, words)
r[4] = now + r[9] * 1000
retain(r, 0)
add_holder(r)
return r, r, false
end
function x.delete()
if s[9] + s[10] > 0 then return 'IN_USE ' .. int(s[9]) .. ' ' .. int(s[10]) end
local existed = s[11] == 1 or s[15] > 0
if s[15] > 0 then call('DEL', KEY .. ':signals') end
s[11], s[15], s[16] = 0, 0, 0
return existed and 'DELETED 1' or 'DELETED 0'
end
function x.inspect(above)
if s[15] + s[18] + s[19] > 0 then reach() end
local used = 0
local count = s[15] > 0 and call('ZCARD', KEY .. ':signals') > 0 and s[15] or 0
local holders, waiters = {}, above > 0 and above >= s[2] and {} or all_waiters()
local function describe(r, ends)
return {
hex(r[7]), hex(sub(r[8], 17, 32)), r[11], r[12] % 2, int(r[5] > 0 and r[5] or r[2]), int(r[5]),
meta_of(r), int(ends - now), r[12] > 3 and 4 or r[1],
}
end
for _, r in ipairs(all_holders()) do
if r[4] <= now then
if r[6] > 0 then count = count + 1 end
else
holders[#holders + 1] = describe(r, r[4])
if r[6] == 0 then used = used + r[11] end
end
end
table.sort(waiters, function(a, b) return a[2] < b[2] end)
local waiting = {}
for _, r in ipairs(waiters) do
local ends = r[3] + r[10] * 1000
if ends > now then waiting[#waiting + 1] = describe(r, ends) end
end
local kick = above == 0 and redis.pcall('GET', KEY .. ':kick')
local exists = (s[11] == 1 or count > 0) and 1 or 0
return {'INFO', int(s[1]), s[9] + s[10] > 0 and s[2] or '', used, count, exists, holders, waiting, type(kick) == 'string' and kick or ''}
end
function x.settle(ms)
if s[18] + s[19] > 0 or s[9] > most or s[10] > most then
reached = reached or are_here()
if reached then others().settle() end
end
local apart = s[18] + s[19] > 0
if not apart and s[15] == 0 then
s[14] = 0
elseif s[14] < now + (ms - 600000) * 1000 then
if apart then others().expire(ms) end
if s[15] > 0 then call('PEXPIRE', KEY .. ':signals', ms) end
s[14] = now + ms * 1000
end
if s[13] > 0 then call('PEXPIRE', KEY .. ':gone', 30000) end
end
return x
end
function others()
local x = {}
others = function() return x end
local TICKETS_KEY, HELD_KEY, TOKENS_KEY = KEY .. ':tickets', KEY .. ':held', KEY .. ':tokens'
local QUEUE_KEY, WAITS_KEY = KEY .. ':queue', KEY .. ':waits'
local stored, front = {}, nil
local function score_of(r)
return int(r[1] == 3 and 4503599627370496 + r[2] or r[2])
end
local function place_ends(r)
return int(r[3] + r[10] * 1000)
end
local function read_stored(ticket, text)
stored[ticket] = text and true
records[ticket] = text and read(text, 1, #text)
if text then records[ticket][14] = false end
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
function x.ended(suffix)
return records_of(call('ZRANGE', KEY .. suffix, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, 50 + 1))
end
function x.with_token(token)
return records_of(call('ZRANGE', TOKENS_KEY, int(token), int(token), 'BYSCORE'))
end
function x.place(i)
if not front then front = call('ZRANGE', QUEUE_KEY, 0, 3 - 1, 'WITHSCORES') end
local score = tonumber(front[2 * i])
if score and score < 4503599627370496 then return score end
if not score and i == 1 then foreign('the queue is missing') end
end
function x.waiter(i)
return need(front[2 * i - 1])
end
function x.position(r)
return (call('ZRANK', QUEUE_KEY, r[7]) or foreign('the queue is missing')) + 1
end
function x.first_end(suffix)
return tonumber(call('ZRANGE', KEY .. suffix, 0, 0, 'WITHSCORES')[2]) or 9007199254740992
end
function x.eldest()
return need(call('ZRANGE', TOKENS_KEY, 0, 0)[1] or foreign('the holders are missing'))
end
function x.hold(r)
if s[9] == 0 then s[14] = 0 end
call('ZADD', HELD_KEY, int(r[4]), r[7])
end
function x.enter(r)
x.hold(r)
call('ZADD', TOKENS_KEY, int(r[5]), r[7])
end
function x.let_go(r)
call('ZREM', HELD_KEY, r[7])
call('ZREM', TOKENS_KEY, r[7])
end
function x.wait(r)
if s[10] == 1 then s[14] = 0 end
call('ZADD', QUEUE_KEY, score_of(r), r[7])
x.stay(r)
front = nil
end
function x.stay(r)
call('ZADD', WAITS_KEY, place_ends(r), r[7])
end
function x.leave(r)
call('ZREM', QUEUE_KEY, r[7])
call('ZREM', WAITS_KEY, r[7])
front = nil
end
local function clear()
local sets = {HELD_KEY, TOKENS_KEY, QUEUE_KEY, WAITS_KEY}
if call('EXISTS', TICKETS_KEY, unpack(sets)) == 0 then return end
call('HLEN', TICKETS_KEY)
for _, key in ipairs(sets) do call('ZCARD', key) end
call('DEL', TICKETS_KEY, unpack(sets))
end
function x.mend()
local here = call('HLEN', TICKETS_KEY)
local function are_in(count, one, other)
return call('ZCARD', one) == count and call('ZCARD', other) == count
end
local held_here = s[18] == 0 or are_in(s[9], HELD_KEY, TOKENS_KEY)
local queue_here = s[19] == 0 or are_in(s[10], QUEUE_KEY, WAITS_KEY)
if held_here and queue_here and here == s[18] * s[9] + s[19] * s[10] then return end
if s[18] == 1 then
if now >= s[4] and now < s[4] + 30000 * 1000 then foreign('a part of the state is missing') end
s[9], s[5], s[17] = 0, 0, 0
end
if s[19] == 1 then s[10], s[8] = 0, 0 end
s[18], s[19], s[14], s[6] = 0, 0, 0, 0
clear()
end
function x.settle()
local drops, keeps = {}, {}
local function balance(list, all, apart, count, least, keys)
if s[apart] == 0 and count > least then
if s[18] + s[19] == 0 then clear() end
for i = 1, #list do
local r = fetch(list, i)
for key, score in pairs(keys) do call('ZADD', key, score(r), r[7]) end
r[14] = true
end
s[apart], s[14] = 1, 0
return {}
elseif s[apart] == 1 and count <= few then
list = all()
for _, r in ipairs(list) do r[14] = true end
for key in pairs(keys) do call('DEL', key) end
s[apart] = 0
end
return list
end
held = balance(held, all_holders, 18, s[9], max(1, most), {
[HELD_KEY] = function(r) return int(r[4]) end, [TOKENS_KEY] = function(r) return int(r[5]) end,
})
queue = balance(queue, all_waiters, 19, s[10], most, {[QUEUE_KEY] = score_of, [WAITS_KEY] = place_ends})
for ticket, r in pairs(records) do
if not r or s[r[5] > 0 and 18 or 19] == 0 then
if stored[ticket] then drops[#drops + 1] = ticket end
elseif r[14] == true then
keeps[#keeps + 1] = ticket
keeps[#keeps + 1] = text_of(r)
end
end
for i = 1, #keeps, 1000 do call('HSET', TICKETS_KEY, unpack(keeps, i, min(i + 999, #keeps))) end
for i = 1, #drops, 1000 do call('HDEL', TICKETS_KEY, unpack(drops, i, min(i + 999, #drops))) end
end
function x.expire(ms)
call('PEXPIRE', TICKETS_KEY, ms)
for _, key in ipairs(s[18] == 1 and {HELD_KEY, TOKENS_KEY} or {}) do call('PEXPIRE', key, ms) end
for _, key in ipairs(s[19] == 1 and {QUEUE_KEY, WAITS_KEY} or {}) do call('PEXPIRE', key, ms) end
end
return x
end
end
local changes = false
for i = first, count do
local code, text, ticket, member = operation(i)
local r, own, heard, word, capacity, unclaimed, known, cap
if code == 117 then
opens = unpack_struct('<d', text, 2)
closed = now < opens
elseif code == 111 then
most, few = 0, -1
elseif code == 63 then
replies[#replies + 1] = seldom().inspect((unpack_struct('<I', text, 34)))
elseif code == 112 then
local message = 'probe ' .. hex(member) .. ' ' .. sub(KEY, 13, -2) .. ' ' .. sub(text, 50)
replies[#replies + 1] = 'TOLD ' .. publish(sub(text, 34, 49), message)
else
changes = true
if not plain then seldom().prune(code, ticket, text) end
s[4] = now
if code == 64 or code == 72 then
local units, mode
units, capacity = unpack_struct('<II', text, 46)
mode = byte(text, 33) % 8
r = find(ticket)
if mode % 2 == 0 and units > capacity then
word = 'TOO_MANY'
elseif s[13] > 0 and seldom().is_buried(ticket) or r and r[1] == 2 then
word = 'REFUSED'
elseif r then
own, heard = r, true
if r[5] == 0 then r[8] = sub(r[8], 1, 53) .. sub(text, 53 + 1) end
else
cap = capacity
if s[9] + s[10] > 0 and s[2] ~= cap then cap, word, known = seldom().agree(units, cap, mode % 2) end
end
if cap then
s[3], s[11], s[2] = max(now, s[3] + 1), 1, cap
r = record_of(text, 0, s[3], now, now, 0, 0)
own = r
put_waiter(r)
end
elseif code == 116 then
r = find(ticket)
own, heard = r, r and r[1] ~= 2
if not heard then word = 'GONE' end
elseif code == 114 then
local park, used, tomb = 0, 0, 0
if #text > 32 then park, used, tomb = unpack_struct('<IdB', text, 34) end
capacity = s[2]
r = find(ticket)
if not r then
word = 'GONE'
elseif r[5] == 0 then
word = 'CANCELLED'
take_waiter(r)
records[ticket] = false
else
word = 'RELEASED'
if r[1] ~= 2 and park > 0 and r[6] == 0 then
r[1] = 2
ask(r, r[13], park, r[10], r[11])
retain(r, 0)
lease_until(r, now + park * 1000)
elseif r[1] ~= 2 then
remove_holder(r)
records[ticket] = false
if r[6] > 0 and r[5] ~= used then signalling().put(r[6], r[15], 1) end
end
end
if tomb == 1 then seldom().bury(ticket) end
else
r, own, heard, word = seldom().operate(code, text, ticket)
end
if heard and own[5] > 0 and own[1] == 0 and unpack_struct('<I', text, 34) < own[13] then heard = false end
if heard then
local counter, hold, wait, units = unpack_struct('<IIII', text, 34)
own[3] = now
unclaimed = closed and own[1] == 1
ask(own, max(counter, own[13]), unclaimed and own[9] or hold, wait, own[11])
if own[5] > 0 then
if not unclaimed then
own[1] = 0
lease_until(own, now + hold * 1000)
end
if code == 116 and units > 0 and units < own[11] then
if own[6] == 0 then s[5] = max(0, s[5] - own[11] + units) end
ask(own, own[13], own[9], wait, units)
end
if code == 116 then
local mark = not closed and s[9] == 1 and own[6] == 0 and byte(text, 50) or 0
if mark == 2 or mark == 1 and own[12] > 3 then
remove_holder(own)
s[1] = max(now, s[1] + 1)
own[5] = s[1]
add_holder(own)
end
retain(own, mark)
end
else
s[6] = min(s[6], now + wait * 1000)
if own[1] == 3 then
take_waiter(own)
own[1] = 0
put_waiter(own)
elseif s[19] == 1 then
others().stay(own)
end
own[4], moved = 0, true
s[8] = min(s[8], own[2] - 1)
end
end
local tries = 0
while tries < 50 and s[10] > 0 and not closed and place_at(1) do
if s[5] >= s[2] and s[15] == 0 then break end
local first, number, words = waiter_at(1), 0, nil
if first[12] % 2 == 1 and s[15] > 0 then number, words = signalling().first() end
if number == 0 and s[5] + first[11] > s[2] then break end
tries = tries + 1
if not give(member, own, first, number, words) then
take_waiter(first)
first[1] = 3
put_waiter(first)
end
end
if moved and s[10] > 0 then
for position = 1, 3 do
local place, told = place_at(position)
if not place then break end
if place > s[8] then
if not told or told == 0 then
local near = waiter_at(position)
if near[4] == 0 then
near[4], near[14] = now, true
if near ~= own then tell(near, 'near', ' ' .. sub(KEY, 13, -2)) end
end
end
s[8] = place
end
end
end
moved = false
if word == 'RELEASED' then
word = max(0, capacity - s[5]) + s[15]
elseif code == 120 then
word = seldom().delete()
elseif known and ask_back(known, member) then
word = 'KEPT' .. holder(known)
elseif unclaimed then
word = code == 72 and 'BUSY' or 'QUEUED 1 ' .. int(max(1, min(1100, r[10] / 3, ceil((opens - now) / 1000) + 1)))
elseif not word and r[5] > 0 then
word = r[15] and {int(r[5]), r[15]} or r[5]
elseif not word then
if code == 72 then
word = 'BUSY'
else
local position = s[19] == 1 and others().position(r) or index_of(queue, r)
local again = r[10] / 3
if r[4] > 0 or position <= 3 then again = min(1100, again) end
if position <= 3 then
local ends = 9007199254740992
if s[18] == 1 then
ends = others().first_end(':held')
else
for _, one in ipairs(held) do
ends = min(ends, type(one) == 'table' and one[4] or unpack_struct('<d', state, starts[one] + 25))
end
end
if closed then ends = max(s[9] > 0 and ends or 0, opens) end
if ends < 9007199254740992 then again = min(again, ceil((ends - now) / 1000) + 1) end
end
word = string.format('QUEUED %d %d', position, max(1, again))
end
if s[9] > 0 then
local first = eldest_holder()
if ask_back(first, member) and code == 72 then word = 'KEPT' end
word = word .. holder(first)
end
if code == 72 then
take_waiter(r)
records[ticket] = false
elseif code == 64 then
retain(r, 0)
end
end
forget()
replies[#replies + 1] = word
end
end
local answer = replies[2] and replies or replies[1]
if not changes then return answer end
if moved then s[8] = 0 end
local signals = s[15] + s[17] > 0
local ms = (signals and 86400000 or 600000) + 600000 + max(0, ceil((s[7] - now) / 1000))
if not plain then seldom().settle(ms) end
ms = int(ms + max(0, ceil((s[1] - now) / 1000)))
local text
local r = s[9] == 1 and s[10] + s[13] + s[15] + s[17] + s[18] == 0 and fetch(held, 1)
if s[9] + s[10] + s[13] + s[15] == 0 then
if s[1] + s[11] == 0 then
if state then call('DEL', KEY) end
return answer
end
text = (s[11] == 1 and '3 i ' or '3 d ') .. pack('<d', s[1])
elseif r and r[1] == 0 and r[5] == s[1] and r[4] == r[3] + r[9] * 1000 and s[2] == unpack_struct('<I', r[8], 50)
and r[3] >= s[1] and r[3] - s[1] < 281474976710656 then
local later, request = r[3] - s[1], r[8]
if sub(request, 38, 41) == sub(request, 42, 45) and sub(request, 46, 53) == '\1\0\0\0\1\0\0\0' then
request = sub(request, 1, 32) .. pack('B', byte(request, 33) - 16) .. sub(request, 34, 41) .. sub(request, 53 + 1)
end
text = (later == 0 and '3 s ' or '3 t ') .. pack('<d', s[1]) .. (later == 0 and '' or pack('<I6', later)) .. request
else
local parts, size, odd = {'', '', ''}, 0, closed and s[10] > 0
for _, list in ipairs({held, queue}) do
for _, one in ipairs(list) do
local at = type(one) == 'table' and one[14] or one
local part = at == true and text_of(one) or sub(state, starts[at], starts[at + 1] - 1)
odd = odd or byte(part, 9) > 1
parts[#parts + 1] = part
if list == held then size = size + #part end
end
end
s[12] = size
parts[1], parts[2] = '3 q ', pack('<dddddddddddd', unpack(s, 1, 12))
for i = 13, 19 do odd = odd or s[i] > 0 end
if odd or s[9] == 0 or s[11] == 0 then parts[1], parts[3] = '3 f ', pack('<ddddddd', unpack(s, 13, 19)) end
text = table.concat(parts)
end
if not allowed then
local written = redis.pcall('SET', KEY, text, 'PX', ms)
if not written.err then return answer end
if not renews then error(written.err, 0) end
allow()
end
call('SET', KEY, text, 'PX', ms)
return answer
end
local ok, reply = pcall(run)
return ok and reply or failure(reply)
end
reply = type(state) == 'table' and failure(state) or rest()
end
if not all then return reply end
all[key] = reply
base = base + count
end
return all
