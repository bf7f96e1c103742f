-- A release and the next acquire of the same name, in this order: what a loop over one lock sends.
--
-- Keys: 1 auto_mutex:{name}, in one of the forms of common/base.lua
-- Arguments: 1 the request, as acquire.lua takes it (it would wait)  2 ticket to release, 3 member, as release.lua takes them
-- Replies: the token, a number, for a grant; before it everything was free
--          {the reply of release.lua, that of acquire.lua}; two times nil if the first one is

local state = redis.call('GET', KEYS[1])
-- Held by the one that goes, of the same capacity.
if state and string.sub(state, 1, 4) == '1 s ' and string.sub(state, 29, 60) == ARGV[2]
  and string.sub(state, 77, 84) == string.sub(ARGV[1], 49, 56) then
  local now, tok = clock(), struct.unpack('<d', state, 13)
  if tok < now then
    local text = '1 s ' .. struct.pack('<ddd', now, now, now) .. ARGV[1]
    local written
    if now - tok <= now % 256000000 then
      -- It was set to twenty minutes less than five minutes ago: see common/base.lua.
      written = redis.pcall('SET', KEYS[1], text, 'KEEPTTL')
    else
      written = redis.pcall('SET', KEYS[1], text, 'PX', '1200000')
    end
    -- A full memory may deny it, but must not deny the release.
    if not written.err then return now end
  end
end

-- Behind this file stand the two as functions, and they are run one after the other.
