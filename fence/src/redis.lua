do
  local fences, ttl = {}, table.remove(ARGV)
  for i = 1, table.remove(ARGV) do
    local key, ours = table.remove(KEYS), table.remove(ARGV)
    local newest = redis.call('GET', key) or ours
    if #newest > #ours or (#newest == #ours and newest > ours) then
      return redis.error_reply('FENCED ' .. i .. ' ' .. newest)
    end
    fences[key] = ours
  end
  for key, ours in pairs(fences) do
    if ttl == '' then redis.call('SET', key, ours) else redis.call('SET', key, ours, 'PX', ttl) end
  end
end
