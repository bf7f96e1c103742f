-- Follows clock.lua. Handles plain operations on a free name, or on a name with one plain holder, before anything else
-- is set up. The rest of the script handles everything else.
--
-- Keys: for each name auto_mutex:{name}, its first key. The other keys are made from it, and have the same hash tag.
-- Arguments: the operations, which run in this order. If there are several keys, first a text with a byte for each key:
-- how many of the operations are on it. The operations on one key follow each other, and run on the same state.
--
-- An operation is a ticket and a member, 16 bytes each (zeros for no ticket), a byte CODE, and parameters. COUNTER
-- HOLD_MS PLACE_MS UNITS CAPACITY PARK_MS ABOVE are numbers of 4 bytes, and those that are no times of the server may
-- be less than meant, but never wrap; TOKEN USED OPENS are doubles. All are little endian.
--     ACQUIRE, TRY  COUNTER HOLD_MS, PLACE_MS UNITS CAPACITY, meta. The code is 64, plus 1 if it also takes a signal, plus
--       2 * RETAIN, plus 8 for TRY, plus 16 if it has the three numbers in the middle (LONG). A short one asks for
--       PLACE_MS = HOLD_MS, UNITS = CAPACITY = 1
--     TOUCH         COUNTER HOLD_MS, and unless PLACE_MS = HOLD_MS and the rest is 0: PLACE_MS UNITS (a holder keeps no more
--       than these; 0: all), 1 byte: RETAIN (1: the client may keep the lock after the call, 2: it keeps it and no call is
--       inside)
--     RELEASE       PARK_MS (0: don't park) USED (the token of the grant whose signal was used; 0: none),
--       1 byte: TOMB (1: leave a tombstone). If all of these are 0, the operation is the ticket and the member alone,
--       without a code; and the ticket alone if another operation with the same member follows on this key
--     ADOPT         COUNTER HOLD_MS PLACE_MS, the old ticket, meta
--     RAISE         TOKEN
--     SIGNAL        1 byte: KIND (0: a token; 1, 2: one or all signals that waiters lack), the text of a token
--     KICK          TOKEN, who kicks
--     PROBE         the member that gets the message, the text of the message
--     INSPECT       ABOVE (lists the waiters only if some may ask for more units than this; 0: in any case)
--     FORCE, DELETE
--   Before them, with a code and a double, and no ids: UNTIL OPENS: nothing is granted before that time. SPREAD with a
--   number
--     that is ignored: moves all waiters, and several holders, to the other keys.
-- Replies, in a list if there are several operations: a number, the token of a grant or the free units after a release;
-- {token, text} for the grant of a signal; words; for INSPECT a list. Errors: FOREIGN, TRYAGAIN, and the server's.
-- RELEASE with ACQUIRE may have the token alone, which the server makes faster: then the release left all units of
-- CAPACITY free. With several keys, the reply is a list with the reply or error of each.
--
-- The state, in one of six forms. TOK is a double, LATER 6 bytes:
--   3 i TOK                idle: no holders, no waiters
--   3 d TOK                idle, and deleted after its last use
--   3 s TOK REQUEST        single: one plain holder, granted and last heard at TOK, its token; no waiters
--   3 t TOK LATER REQUEST  the same, but touched LATER microseconds after TOK
--   3 q …                  holders or waiters, without other keys: see state.lua
--   3 f …                  the full form, for every other state
-- REQUEST is the text of an acquire. In the forms `i` `s` `t`, the first write in each window of WINDOW_US of the
-- server's clock sets the time to live to twenty minutes or more; TOK is in that window.

local redis, struct, sub, byte, KEYS, ARGV = redis, struct, string.sub, string.byte, KEYS, ARGV
local call, unpack_struct = redis.call, struct.unpack
-- The operations on a key follow `base`. `single` is the beginning of a state with a holder that is granted now.
local now, all, single
local base = 0
if KEYS[2] then
  -- An error of this command must not follow a write.
  all, now, base = {}, clock(), 1
end
for key = 1, #KEYS do
  local KEY, text, reply = KEYS[key], ARGV[base + 1], nil
  local count = all and byte(ARGV[1], key) or #ARGV
  local state = redis.pcall('GET', KEY)
  -- `free`: the last token, if an acquire finds the name free. `freed`: the free units after a release right before it.
  local free, freed
  if not state then
    free = 0
  elseif #state == IDLE_SIZE then
    local form, tok = unpack_struct('<c4d', state)
    if form == '3 i ' then free = tok end
  elseif #state >= SINGLE_SIZE then
    local form, tok = unpack_struct('<c4d', state)
    local from = form == '3 s ' and 13 or form == '3 t ' and 19
    local code = from and byte(state, from + 32)
    local long = code and code % (2 * LONG) >= LONG
    if from and #state - from >= (long and LONG_SIZE or SHORT_SIZE) - 1 then
      local size = #text
      if size == 32 or size == 16 then
        if count < 3 and sub(state, from, from + size - 1) == text then
          local capacity = long and unpack_struct('<I', state, from + 49) or 1
          if count == 2 then
            text, free, freed = ARGV[base + 2], tok, capacity
          elseif not redis.pcall('SET', KEY, '3 i ' .. sub(state, 5, 12), 'KEEPTTL').err then
            -- The acquire, and each touch of the holder, leave a sufficient time to live.
            reply = capacity
          end
        end
      elseif size == SHORT_SIZE and count == 1 and byte(text, 33) == TOUCH and sub(state, from, from + 15) == sub(text, 1, 16) then
        local last, lease = unpack_struct('<II', state, from + 33)
        local counter, hold = unpack_struct('<II', text, 34)
        local heard = from == 13 and tok or tok + unpack_struct('<I6', state, 13)
        now = now or clock()
        if code % 8 < 2 and counter >= last and hold <= LONGEST_HOLD_MS and now >= heard and now < heard + lease * 1000 and now - tok < LONGEST_LATER
          and not redis.pcall('SET', KEY, '3 t ' .. sub(state, 5, 12) .. struct.pack('<I6', now - tok) .. sub(state, from, from + 32)
            .. sub(text, 34) .. (long and sub(text, 38) or '') .. sub(state, from + (long and 45 or 41)), 'PX', FRESH_MS).err then
          reply = tok
        end
      end
    end
  end
  if free and count == (freed and 2 or 1) and #text >= SHORT_SIZE then
    local code, _, hold = unpack_struct('<BII', text, 33)
    if code >= ACQUIRE and code < ACQUIRE + 2 * LONG then
      local units, capacity = 1, 1
      if code % (2 * LONG) >= LONG then units, capacity = unpack_struct('<II', text, 46) end
      now = now or clock()
      if free < now and units <= capacity and hold <= LONGEST_HOLD_MS then
        single = single or '3 s ' .. struct.pack('<d', now)
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
  end

  if not reply then
    now = now or clock()
    local pack, max, min = struct.pack, math.max, math.min

    -- Reports foreign data as FOREIGN, with the same text on every server version.
    local function failure(cause)
      local text = tostring(type(cause) == 'table' and cause.err or cause)
      if string.find(text, 'WRONGTYPE', 1, true) then text = 'FOREIGN a key of this name is of another type' end
      return redis.error_reply((string.gsub(text, '^%-', '')))
    end

    -- An id as 32 hexadecimal digits, as in names of channels, messages and replies.
    local function hex(id)
      return string.format('%08x%08x%08x%08x', unpack_struct('>IIII', id))
    end

    -- The files that follow.
    local function rest()
