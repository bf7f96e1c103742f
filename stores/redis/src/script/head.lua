-- Follows clock.lua. Handles plain operations on a free name, or on a name with one plain holder, before anything else
-- is set up. The rest of the script handles everything else.
--
-- Keys: for each name auto_mutex:{name}, its first key. The other keys are made from it, and have the same hash tag.
-- Arguments, for each key in turn: the operations, a letter for each, which run in this order on the same state; then
-- their parameters: a ticket and a member, 32 bytes each (zeros for no ticket), numbers as doubles, and texts:
--     ACQUIRE, TRY  COUNTER HOLD_MS PLACE_MS UNITS CAPACITY, 1 byte: MODE (1 if it also takes a signal, plus 2 * RETAIN),
--       meta
--     TOUCH         COUNTER HOLD_MS PLACE_MS UNITS (a holder keeps no more than these; 0: all), and 1 byte unless it is 0:
--       RETAIN (1: the client may keep the lock after the call, 2: it keeps it and no call is inside)
--     RELEASE       nothing, or: PARK_MS (0: don't park) USED (the token of the grant whose signal was used; 0: none),
--       1 byte: TOMB (1: leave a tombstone)
--     ADOPT         COUNTER HOLD_MS PLACE_MS, the old ticket, meta
--     RAISE         TOKEN
--     SIGNAL        1 byte: KIND (0: a token; 1, 2: one or all signals that waiters lack), the text of a token
--     KICK          TOKEN, who kicks
--     PROBE         the member that gets the message, the text of the message
--     INSPECT       ABOVE (lists the waiters only if some may ask for more units than this; 0: in any case)
--     FORCE, DELETE
--   Before them: UNTIL with one parameter, OPENS: nothing is granted before that time. SPREAD with one that is ignored: moves all waiters, and
--     several holders, to the other keys.
-- Replies, in a list if there are several operations: a number, the token of a grant or the free units after a release;
-- {token, text} for the grant of a signal; words; for INSPECT a list. Errors: FOREIGN, TRYAGAIN, and the server's.
-- RELEASE with ACQUIRE may have the token alone, which the server makes faster: then the release left all units of
-- CAPACITY free. With several keys, the reply is a list with the reply or error of each.
--
-- The state, in one of five forms; numbers are doubles:
--   2 i TOK                      idle: no holders, no waiters
--   2 d TOK                      idle, and deleted after its last use
--   2 s HEARD TOK TOKEN REQUEST  single: one plain holder until HEARD + HOLD_MS; no waiters
--   2 q …                        holders or waiters, without other keys: see state.lua
--   2 f …                        the full form, for every other state
-- REQUEST is the text of an acquire. In the forms `i` and `s`, the first write in each window of WINDOW_US of the
-- server's clock sets the time to live to twenty minutes or more; TOK is in that window.

local redis, struct, sub, KEYS, ARGV = redis, struct, string.sub, KEYS, ARGV
local call, unpack_struct = redis.call, struct.unpack
-- `at` is the index of the letters, `single` the beginning of a state with a holder that is granted now.
local now, all, single
local at = 1
if KEYS[2] then
  -- An error of this command must not follow a write.
  all, now = {}, clock()
end
for key = 1, #KEYS do
  local KEY, codes, text, reply = KEYS[key], ARGV[at], ARGV[at + 1], nil
  local state = redis.pcall('GET', KEY)
  -- `free`: the last token, if an acquire finds the name free. `freed`: the free units after a release right before it.
  local free, freed
  if not state then
    free = 0
  elseif #state == IDLE_SIZE then
    local form, tok = unpack_struct('<c4d', state)
    if form == '2 i ' then free = tok end
  elseif #state >= SINGLE_SIZE then
    if codes == RELEASE_THEN_ACQUIRE then
      local form, _, tok = unpack_struct('<c4dd', state)
      if form == '2 s ' and sub(state, 29, 92) == text then
        text, free, freed = ARGV[at + 2], tok, (unpack_struct('<d', state, 125))
      end
    elseif codes == ONE_RELEASE then
      local form, _, tok = unpack_struct('<c4dc8', state)
      -- The acquire, and each touch of the holder, leave a sufficient time to live.
      if form == '2 s ' and sub(state, 29, 92) == text and not redis.pcall('SET', KEY, '2 i ' .. tok, 'KEEPTTL').err then
        reply = unpack_struct('<d', state, 125)
      end
    elseif codes == ONE_TOUCH then
      local form, heard, tok, token = unpack_struct('<c4ddd', state)
      if form == '2 s ' and sub(state, 29, 92) == sub(text, 1, 64) then
        local last, lease, _, _, _, mode = unpack_struct('<dddddB', state, 93)
        local counter, hold, _, units = unpack_struct('<dddd', text, 65)
        now = now or clock()
        if #text == 96 and mode < 2 and units == 0 and counter >= last and hold <= LONGEST_HOLD_MS and tok <= now and now >= heard and now < heard + lease * 1000
          and not redis.pcall('SET', KEY, '2 s ' .. struct.pack('<d', now) .. sub(state, 13, 92) .. sub(text, 65, 88)
            .. sub(state, 117), 'PX', FRESH_MS).err then
          reply = token
        end
      end
    end
  end
  if free and (freed or codes == ONE_ACQUIRE or codes == ONE_TRY) then
    local hold, _, units, capacity = unpack_struct('<dddd', text, 73)
    now = now or clock()
    if free < now and units <= capacity and hold <= LONGEST_HOLD_MS then
      single = single or '2 s ' .. struct.pack('<ddd', now, now, now)
      local written
      if free > 0 and now - free <= now % WINDOW_US then
        written = redis.pcall('SET', KEY, single .. text, 'KEEPTTL')
      else
        written = redis.pcall('SET', KEY, single .. text, 'PX', FRESH_MS)
      end
      -- A full memory may deny the acquire, but must not deny the release.
      if not written.err then reply = freed and freed ~= capacity and {freed, now} or now end
    end
  end

  if not reply then
    now = now or clock()
    local pack, byte, max, min = struct.pack, string.byte, math.max, math.min

    -- Reports foreign data as FOREIGN, with the same text on every server version.
    local function failure(cause)
      local text = tostring(type(cause) == 'table' and cause.err or cause)
      if string.find(text, 'WRONGTYPE', 1, true) then text = 'FOREIGN a key of this name is of another type' end
      return redis.error_reply((string.gsub(text, '^%-', '')))
    end

    -- The files that follow.
    local function rest()
