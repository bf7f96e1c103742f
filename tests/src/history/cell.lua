-- A register that takes nothing under a token below one that it has seen.
-- KEYS  the register
-- ARGV  token (20 digits, so that they compare as text), 'read' or 'write', what is written
-- Reply the content behind it; nil: refused
local token, what, value = unpack(ARGV)
if token < (redis.call('HGET', KEYS[1], 'token') or '') then return false end
redis.call('HSET', KEYS[1], 'token', token)
if what == 'write' then redis.call('HSET', KEYS[1], 'value', value) end
return redis.call('HGET', KEYS[1], 'value') or ''
