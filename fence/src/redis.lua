do
  local fences, count, ttl = {}, table.remove(ARGV, 1), table.remove(ARGV, 1)
  for _ = 1, count do
    local key, name, ours = table.remove(KEYS, 1), table.remove(ARGV, 1), table.remove(ARGV, 1)
    local newest = redis.call('GET', key) or ours
    if #newest > #ours or (#newest == #ours and newest > ours) then
      return redis.error_reply('FENCED ' .. newest .. ' ' .. ours .. ' ' .. name)
    end
    fences[key] = ours
  end
  for key, ours in pairs(fences) do
    if ttl == '' then redis.call('SET', key, ours) else redis.call('SET', key, ours, 'PX', ttl) end
  end
end
