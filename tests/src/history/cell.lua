-- One operation on a fenced register, which refuses a token below one that it has seen.
-- KEYS  the register
-- ARGV  token (20 digits, so that tokens compare as text), 'read' or 'write', the value to write
-- Reply the value after the operation; nil if the token was refused
local token, what, value = unpack(ARGV)
if token < (redis.call('HGET', KEYS[1], 'token') or '') then return false end
redis.call('HSET', KEYS[1], 'token', token)
if what == 'write' then redis.call('HSET', KEYS[1], 'value', value) end
return redis.call('HGET', KEYS[1], 'value') or ''
