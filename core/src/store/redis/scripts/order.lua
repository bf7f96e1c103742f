-- The lock order of a namespace: keeps edges, and returns the edges of all members. See "Lock order" in docs/protocol.md.
--
-- Keys: 1 a hash. The field of an edge has its two classes; the field of a claim begins with a space. Each value is SINCE
--   (since when the hash has the field) and SEEN (when it was last written), in µs, and a text: of an edge its places and
--   program, of a claim the member that has it.
-- Arguments: 1 the member  2 SINCE: older edges are not returned  3 the number of edges  4… the field and the text of each
--   edge, then the fields of claims. Without edges and claims, nothing is written.
-- Replies: {'ORDER', now, {field, SINCE, text, …}, {1 for each claim that the member has, otherwise 0}}

local key, member, from, count = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now = clock()

local function int(number)
  return string.format('%.0f', number)
end

-- The hash: field -> {SINCE, SEEN, text}. Entries that were not written for too long count as removed.
local known, size, over = {}, 0, {}
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  local since, seen, text = string.match(all[i + 1], '^(%d+) (%d+) (.*)$')
  if since and now < tonumber(seen) + EDGES_KEPT_MS * 1000 then
    known[all[i]], size = {tonumber(since), tonumber(seen), text}, size + 1
  else
    over[#over + 1] = all[i]
  end
end

local function put(field, text)
  local entry = known[field]
  if not entry then
    entry, size = {now, now, text}, size + 1
    known[field] = entry
  end
  entry[2] = now
  return entry
end

local function write(field, entry)
  redis.call('HSET', key, field, int(entry[1]) .. ' ' .. int(entry[2]) .. ' ' .. entry[3])
end

for i = 4, 3 + 2 * count, 2 do
  local entry = put(ARGV[i], ARGV[i + 1])
  entry[3] = ARGV[i + 1]
  write(ARGV[i], entry)
end
local claimed = {}
for i = 4 + 2 * count, #ARGV do
  local entry = put(ARGV[i], member)
  write(ARGV[i], entry)
  claimed[#claimed + 1] = entry[3] == member and 1 or 0
end

if #ARGV > 3 then
  if size > MOST_EDGES then
    -- Removes the entries that were not written for the longest time.
    local fields = {}
    for field, entry in pairs(known) do fields[#fields + 1] = {entry[2], field} end
    table.sort(fields, function(one, other)
      if one[1] ~= other[1] then return one[1] < other[1] end
      return one[2] < other[2]
    end)
    for i = 1, size - MOST_EDGES do
      local field = fields[i][2]
      known[field], over[#over + 1] = nil, field
    end
  end
  for _, field in ipairs(over) do
    -- A field in `over` may have been written again.
    if not known[field] then redis.call('HDEL', key, field) end
  end
  redis.call('PEXPIRE', key, EDGES_KEPT_MS)
end

local edges = {}
for field, entry in pairs(known) do
  if entry[1] >= from and string.sub(field, 1, 1) ~= ' ' then
    local n = #edges
    edges[n + 1], edges[n + 2], edges[n + 3] = field, int(entry[1]), entry[3]
  end
end
return {'ORDER', int(now), edges, claimed}
