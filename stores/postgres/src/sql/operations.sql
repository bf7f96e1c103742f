-- A function for each operation: see docs/protocol.md. `opens` is when the store grants again, or 0. `now` is NULL but in
-- tests. The clock is read after the row of the name is locked: an operation that has waited for the row must not take its own
-- beginning for the present, because a later one may have granted meanwhile. (A fast path asks for a `clk` that is not later.)

CREATE FUNCTION auto_mutex.clock(now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- Renews a holder or a waiter. Returns `false` if the ticket is unknown or parked.
CREATE FUNCTION auto_mutex.renew(
  n auto_mutex.names, at bigint, opens bigint, own uuid, new_counter bigint, new_hold_ms bigint, new_place_ms bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  t auto_mutex.tickets;
BEGIN
  SELECT * INTO t FROM auto_mutex.tickets WHERE name = n.name AND ticket = own;
  IF NOT FOUND OR t.flag = 2 THEN
    RETURN false;
  END IF;
  -- A late copy may ask for a shorter lease than the request on which the member relies.
  IF t.line = 0 AND t.flag = 0 AND new_counter < t.counter THEN
    RETURN true;
  END IF;
  IF at < opens AND t.flag = 1 THEN
    -- It is neither extended nor withdrawn, because the member may rely on it.
    UPDATE auto_mutex.tickets SET counter = greatest(counter, new_counter), heard = at, place_ms = new_place_ms
      WHERE name = n.name AND ticket = own;
  ELSIF t.line = 0 THEN
    UPDATE auto_mutex.tickets SET
      counter = greatest(counter, new_counter), heard = at, place_ms = new_place_ms, hold_ms = new_hold_ms, flag = 0,
      ends = at + 1000 * new_hold_ms
      WHERE name = n.name AND ticket = own;
  ELSE
    UPDATE auto_mutex.tickets SET
      counter = greatest(counter, new_counter), heard = at, place_ms = new_place_ms, hold_ms = new_hold_ms, told = 0,
      line = 1, ends = at + 1000 * new_place_ms
      WHERE name = n.name AND ticket = own;
  END IF;
  RETURN true;
END $$;

CREATE FUNCTION auto_mutex.acquire(
  wanted text, caller uuid, own uuid, counter bigint, units bigint, capacity bigint, takes boolean, owner text,
  hold_ms bigint, place_ms bigint, retain smallint, tries boolean, polls boolean, meta text, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  at bigint := auto_mutex.clock(now);
  n auto_mutex.names;
  t auto_mutex.tickets;
  known boolean;
  refusal text;
  granted bigint;
  reply text;
  kept text;
BEGIN
  IF at >= opens AND units <= capacity THEN
    -- Usually, the name is free.
    UPDATE auto_mutex.names AS x SET
      tok = greatest(at, tok + 1), known = true, cap = capacity, seq = at, clk = at, last = 0, held = 1,
      sole = ROW(wanted, own, caller, 0, at, at + 1000 * hold_ms, units, takes, NULL, NULL, owner, hold_ms, place_ms, counter, at,
        at, greatest(at, tok + 1), 0, retain, polls, meta)::auto_mutex.tickets
      WHERE x.name = wanted AND held = 0 AND waiting = 0 AND x.signals = 0 AND x.gone = 0 AND clk <= at
      RETURNING tok INTO granted;
    IF FOUND THEN
      RETURN 'GRANTED ' || granted;
    END IF;
  END IF;
  n := auto_mutex.open(wanted);
  at := auto_mutex.clock(now);
  n := auto_mutex.unpack(n);
  n := auto_mutex.prune(n, at, own, false);
  n.clk := at;
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own;
  known := FOUND;
  IF units > capacity AND NOT takes THEN
    refusal := 'TOO_MANY';
  ELSIF known AND t.flag = 2
    OR n.gone > 0 AND EXISTS (SELECT FROM auto_mutex.gone AS x WHERE x.name = n.name AND x.ticket = own)
  THEN
    refusal := 'REFUSED';
  ELSIF NOT known AND n.cap <> capacity THEN
    SELECT 'MISMATCH ' || n.cap || ' ' || x.takes::integer INTO refusal FROM auto_mutex.tickets AS x
      WHERE x.name = n.name ORDER BY x.line, x.token, x.place LIMIT 1;
  END IF;
  IF refusal IS NOT NULL THEN
    n := auto_mutex.grant_all(n, at, opens, caller, NULL);
    IF refusal LIKE 'MISMATCH%' THEN
      refusal := coalesce(auto_mutex.recall(n, caller), refusal);
    END IF;
    PERFORM auto_mutex.save(n);
    RETURN refusal;
  END IF;
  known := auto_mutex.renew(n, at, opens, own, counter, hold_ms, place_ms);
  IF NOT known THEN
    n.seq := greatest(at, n.seq + 1);
    n.known := true;
    n.cap := capacity;
    n.waiting := n.waiting + 1;
    INSERT INTO auto_mutex.tickets VALUES (
      n.name, own, caller, 1, n.seq, at + 1000 * place_ms, units, takes, NULL, NULL, owner, hold_ms, place_ms, counter, at,
      at, 0, 0, retain, polls, meta
    );
  END IF;
  n := auto_mutex.grant_all(n, at, opens, caller, own);
  reply := auto_mutex.status(n, at, opens, own);
  IF reply LIKE 'QUEUED%' THEN
    UPDATE auto_mutex.tickets AS x SET retain = 0 WHERE x.name = n.name AND x.ticket = own AND x.retain <> 0;
    kept := auto_mutex.recall(n, caller);
    IF tries THEN
      reply := coalesce(kept, 'BUSY' || CASE
        WHEN auto_mutex.is_unclaimed(n.name, at, opens, own) THEN ''
        ELSE auto_mutex.holder(n.name)
      END);
      IF NOT auto_mutex.is_unclaimed(n.name, at, opens, own) THEN
        DELETE FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own;
        n.waiting := n.waiting - 1;
        n := auto_mutex.forget(n);
      END IF;
    END IF;
  END IF;
  PERFORM auto_mutex.save(n);
  RETURN reply;
END $$;

CREATE FUNCTION auto_mutex.touch(
  wanted text, caller uuid, own uuid, counter bigint, units bigint, hold_ms bigint, place_ms bigint, retain smallint,
  opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  at bigint := auto_mutex.clock(now);
  n auto_mutex.names;
  t auto_mutex.tickets;
  known boolean;
  mark smallint := 0;
  reply text;
  kept bigint;
BEGIN
  IF retain = 0 THEN
    -- Usually, the only holder renews its lease.
    UPDATE auto_mutex.names AS x SET
      clk = at, sole.counter = counter, sole.heard = at, sole.hold_ms = hold_ms, sole.place_ms = place_ms,
      sole.ends = at + 1000 * hold_ms,
      sole.units = CASE WHEN units > 0 THEN least((x.sole).units, units) ELSE (x.sole).units END
      WHERE x.name = wanted AND (x.sole).ticket = own AND (x.sole).retain = 0 AND x.gone = 0 AND x.clk <= at
        AND (x.sole).ends > at AND (x.sole).counter <= counter
      RETURNING (x.sole).token INTO kept;
    IF FOUND THEN
      RETURN 'GRANTED ' || kept;
    END IF;
  END IF;
  n := auto_mutex.open(wanted);
  at := auto_mutex.clock(now);
  n := auto_mutex.unpack(n);
  n := auto_mutex.prune(n, at, own, false);
  n.clk := at;
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own;
  known := auto_mutex.renew(n, at, opens, own, counter, hold_ms, place_ms);
  IF known AND t.line = 0 AND NOT (t.flag = 0 AND counter < t.counter) THEN
    IF at >= opens AND n.held = 1 AND t.owner = '' AND t.number IS NULL THEN
      mark := retain;
    END IF;
    IF units > 0 AND units < t.units THEN
      UPDATE auto_mutex.tickets AS x SET units = units WHERE x.name = n.name AND x.ticket = own;
    END IF;
    IF NOT (at < opens AND t.flag = 1) THEN
      -- The calls since the last touch have used fencing tokens up to this one.
      IF mark = 2 OR mark = 1 AND t.retain = 2 THEN
        n.tok := greatest(at, n.tok + 1);
        UPDATE auto_mutex.tickets AS x SET token = n.tok WHERE x.name = n.name AND x.ticket = own;
      END IF;
      UPDATE auto_mutex.tickets AS x SET retain = mark WHERE x.name = n.name AND x.ticket = own AND x.retain <> mark;
    END IF;
  END IF;
  n := auto_mutex.grant_all(n, at, opens, caller, own);
  reply := CASE WHEN known THEN auto_mutex.status(n, at, opens, own) ELSE 'GONE' END;
  IF reply LIKE 'QUEUED%' THEN
    PERFORM auto_mutex.recall(n, caller);
  END IF;
  PERFORM auto_mutex.save(n);
  RETURN reply;
END $$;

CREATE FUNCTION auto_mutex.release(
  wanted text, caller uuid, own uuid, park_ms bigint, tomb boolean, used bigint, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  at bigint := auto_mutex.clock(now);
  n auto_mutex.names;
  t auto_mutex.tickets;
  capacity bigint;
  reply text := 'GONE';
BEGIN
  IF park_ms = 0 AND NOT tomb THEN
    -- Usually, the only ticket leaves. `open` forgets the rest.
    UPDATE auto_mutex.names AS x SET sole = NULL, held = 0, clk = at
      WHERE x.name = wanted AND (x.sole).ticket = own AND x.signals = 0 AND x.gone = 0 AND x.clk <= at
      RETURNING cap INTO capacity;
    IF FOUND THEN
      RETURN 'RELEASED ' || capacity;
    END IF;
  END IF;
  n := auto_mutex.open(wanted);
  at := auto_mutex.clock(now);
  n := auto_mutex.unpack(n);
  n := auto_mutex.prune(n, at, own, true);
  n.clk := at;
  capacity := coalesce(n.cap, 0);
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own;
  IF FOUND THEN
    reply := CASE WHEN t.line = 0 THEN 'RELEASED' ELSE 'CANCELLED' END;
    IF t.line > 0 THEN
      n.waiting := n.waiting - 1;
      DELETE FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own;
    ELSIF t.flag <> 2 AND park_ms > 0 AND t.number IS NULL THEN
      UPDATE auto_mutex.tickets AS x SET flag = 2, retain = 0, hold_ms = park_ms, ends = at + 1000 * park_ms
        WHERE x.name = n.name AND x.ticket = own;
    ELSIF t.flag <> 2 THEN
      n.held := n.held - 1;
      DELETE FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own;
      IF t.token <> used THEN
        n := auto_mutex.put_back(n, t.number, t.text);
      END IF;
    END IF;
  END IF;
  IF tomb THEN
    n := auto_mutex.bury(n, own, at);
  END IF;
  n := auto_mutex.grant_all(n, at, opens, caller, NULL);
  IF reply = 'RELEASED' THEN
    reply := 'RELEASED ' || greatest(0, capacity - auto_mutex.used(n.name, 0)) + n.signals;
  END IF;
  PERFORM auto_mutex.save(n);
  RETURN reply;
END $$;

CREATE FUNCTION auto_mutex.bury(INOUT n auto_mutex.names, own uuid, at bigint) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO auto_mutex.gone VALUES (n.name, own, at + 30000000)
    ON CONFLICT (name, ticket) DO UPDATE SET until = excluded.until;
  SELECT count(*) INTO n.gone FROM auto_mutex.gone AS x WHERE x.name = n.name;
END $$;

CREATE FUNCTION auto_mutex.adopt(
  wanted text, caller uuid, old uuid, own uuid, counter bigint, hold_ms bigint, place_ms bigint, polls boolean, meta text,
  opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.unpack(auto_mutex.open(wanted));
  at CONSTANT bigint := auto_mutex.clock(now);
  known boolean;
  reply text;
BEGIN
  n := auto_mutex.prune(n, at, own, false);
  n.clk := at;
  IF EXISTS (SELECT FROM auto_mutex.gone AS x WHERE x.name = n.name AND x.ticket = own) THEN
    reply := 'REFUSED';
  ELSE
    known := auto_mutex.renew(n, at, opens, own, counter, hold_ms, place_ms);
    IF NOT known THEN
      IF EXISTS (SELECT FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own)
        OR NOT EXISTS (
          SELECT FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = old AND x.line = 0 AND x.flag <> 2
        )
      THEN
        reply := 'GONE';
      ELSIF at < opens THEN
        reply := 'BUSY';
      ELSE
        n.tok := greatest(at, n.tok + 1);
        UPDATE auto_mutex.tickets AS x SET
          ticket = own, member = caller, hold_ms = hold_ms, place_ms = place_ms, counter = counter, heard = at, told = 0,
          token = n.tok, flag = 0, retain = 0, polls = polls, meta = meta, ends = at + 1000 * hold_ms
          WHERE x.name = n.name AND x.ticket = old;
      END IF;
    END IF;
  END IF;
  n := auto_mutex.grant_all(n, at, opens, caller, own);
  reply := coalesce(reply, auto_mutex.status(n, at, opens, own));
  IF reply LIKE 'QUEUED%' THEN
    PERFORM auto_mutex.recall(n, caller);
  END IF;
  PERFORM auto_mutex.save(n);
  RETURN reply;
END $$;

-- Drops holders: those of `owner` if that is not NULL and not empty, those with this token if that is not NULL.
CREATE FUNCTION auto_mutex.drop_holders(
  wanted text, caller uuid, owner text, token bigint, kicked_by text, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.unpack(auto_mutex.open(wanted));
  at CONSTANT bigint := auto_mutex.clock(now);
  t auto_mutex.tickets;
  dropped integer := 0;
BEGIN
  n := auto_mutex.prune(n, at, NULL, false);
  n.clk := at;
  FOR t IN
    DELETE FROM auto_mutex.tickets AS x
      WHERE x.name = n.name AND x.line = 0 AND (owner = '' OR x.owner = owner) AND (token IS NULL OR x.token = token)
      RETURNING *
  LOOP
    dropped := dropped + 1;
    PERFORM auto_mutex.publish(t.member, t.polls, 'lost ' || auto_mutex.id(t.ticket) || ' ' || n.name);
    n := auto_mutex.put_back(n, t.number, t.text);
  END LOOP;
  n.held := n.held - dropped;
  IF token IS NOT NULL AND dropped > 0 THEN
    n.kick_at := at;
    n.kick_token := token;
    n.kick_by := kicked_by;
  END IF;
  n := auto_mutex.grant_all(n, at, opens, caller, NULL);
  PERFORM auto_mutex.save(n);
  RETURN 'COUNT ' || dropped;
END $$;

CREATE FUNCTION auto_mutex.refresh(
  wanted text, caller uuid, owner text, expire_ms bigint, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.unpack(auto_mutex.open(wanted));
  at CONSTANT bigint := auto_mutex.clock(now);
  t auto_mutex.tickets;
  told integer := 0;
BEGIN
  n := auto_mutex.prune(n, at, NULL, false);
  n.clk := at;
  FOR t IN
    SELECT * FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.line = 0 AND x.owner = owner AND x.flag <> 2
  LOOP
    told := told + auto_mutex.publish(t.member, t.polls,
      'refresh ' || auto_mutex.id(t.ticket) || ' ' || expire_ms || ' ' || n.name)::integer;
  END LOOP;
  n := auto_mutex.grant_all(n, at, opens, caller, NULL);
  PERFORM auto_mutex.save(n);
  RETURN 'COUNT ' || told;
END $$;

CREATE FUNCTION auto_mutex.signal(
  wanted text, caller uuid, own uuid, kind text, signal_text text, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.unpack(auto_mutex.open(wanted));
  at CONSTANT bigint := auto_mutex.clock(now);
  unserved bigint;
  added bigint;
  reply text;
BEGIN
  n := auto_mutex.prune(n, at, own, false);
  n.clk := at;
  IF n.gone > 0 AND EXISTS (SELECT FROM auto_mutex.gone AS x WHERE x.name = n.name AND x.ticket = own) THEN
    reply := 'REFUSED';
  ELSE
    unserved := greatest(0, n.waiting - n.signals);
    added := CASE kind WHEN 'token' THEN 1 WHEN 'one' THEN least(1, unserved) ELSE unserved END;
    IF kind = 'token' THEN
      n.known := true;
      n := auto_mutex.bury(n, own, at);
    END IF;
    INSERT INTO auto_mutex.signals
      SELECT n.name, n.last + number, CASE kind WHEN 'token' THEN signal_text ELSE auto_mutex.id(own) END
      FROM generate_series(1, added) AS number;
    n.last := n.last + added;
    n.signals := n.signals + added;
    reply := 'COUNT ' || added;
  END IF;
  n := auto_mutex.grant_all(n, at, opens, caller, NULL);
  PERFORM auto_mutex.save(n);
  RETURN reply;
END $$;

CREATE FUNCTION auto_mutex.remove(wanted text, caller uuid, opens bigint, now bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  n auto_mutex.names := auto_mutex.unpack(auto_mutex.open(wanted));
  at CONSTANT bigint := auto_mutex.clock(now);
  reply text;
BEGIN
  n := auto_mutex.prune(n, at, NULL, false);
  n.clk := at;
  n := auto_mutex.grant_all(n, at, opens, caller, NULL);
  IF n.held + n.waiting > 0 THEN
    reply := 'IN_USE ' || n.held || ' ' || n.waiting;
  ELSE
    reply := 'COUNT ' || (n.known OR n.signals > 0)::integer;
    DELETE FROM auto_mutex.signals WHERE name = n.name;
    n.signals := 0;
    n.known := false;
    n.last := 0;
  END IF;
  PERFORM auto_mutex.save(n);
  RETURN reply;
END $$;

CREATE FUNCTION auto_mutex.probe(wanted text, caller uuid, receiver uuid, polls boolean, text text) RETURNS text
LANGUAGE sql AS $$
  SELECT 'COUNT ' || auto_mutex.publish(receiver, polls,
    'probe ' || auto_mutex.id(caller) || ' ' || wanted || ' ' || text)::integer
$$;

-- The state of a name. Changes nothing. The first row is that of the name.
CREATE FUNCTION auto_mutex.inspect(wanted text, above bigint, now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
  n auto_mutex.names;
  tickets jsonb;
  available bigint;
BEGIN
  SELECT * INTO n FROM auto_mutex.names WHERE name = wanted;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  WITH all_tickets AS (
    SELECT * FROM auto_mutex.tickets WHERE name = wanted
    UNION ALL
    SELECT (n.sole).* WHERE (n.sole).ticket IS NOT NULL
  )
  SELECT
    coalesce(jsonb_agg(jsonb_build_array(
      auto_mutex.id(ticket), auto_mutex.id(member), units, takes, CASE WHEN token = 0 THEN place ELSE token END, token, meta,
      ends - at, flag = 2, line = 2, retain = 2, line = 0, number IS NULL, owner
    ) ORDER BY line = 0 DESC, CASE WHEN line = 0 THEN token END, place)
      FILTER (WHERE ends > at AND (line = 0 OR NOT (above > 0 AND above >= coalesce(n.cap, above + 1)))), '[]'),
    n.signals + count(*) FILTER (WHERE line = 0 AND ends <= at AND number IS NOT NULL)
    INTO tickets, available FROM all_tickets;
  RETURN jsonb_build_object(
    'at', at, 'token', n.tok, 'capacity', CASE WHEN n.held + n.waiting > 0 THEN n.cap END, 'signals', available, 'exists', n.known OR available > 0,
    'used', CASE WHEN (n.sole).ticket IS NULL THEN auto_mutex.used(wanted, at) WHEN (n.sole).ends > at THEN (n.sole).units ELSE 0 END,
    'kick', CASE WHEN above = 0 AND at < n.kick_at + 86400000000 THEN jsonb_build_array(n.kick_at, n.kick_token, n.kick_by) END,
    'tickets', tickets
  );
END $$;

-- Raises the token of a holder, for the grants of a quorum.
CREATE FUNCTION auto_mutex.raise(wanted text, caller uuid, own uuid, token bigint, opens bigint, now bigint) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.unpack(auto_mutex.open(wanted));
  at CONSTANT bigint := auto_mutex.clock(now);
  t auto_mutex.tickets;
  reply text;
BEGIN
  n := auto_mutex.prune(n, at, own, false);
  n.clk := at;
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = n.name AND x.ticket = own AND x.line = 0 AND x.flag <> 2;
  IF NOT FOUND THEN
    reply := 'GONE';
  ELSIF t.token < token THEN
    n.tok := greatest(token, n.tok + 1);
    UPDATE auto_mutex.tickets AS x SET token = n.tok WHERE x.name = n.name AND x.ticket = own;
  END IF;
  n := auto_mutex.grant_all(n, at, opens, caller, NULL);
  reply := coalesce(reply, auto_mutex.status(n, at, 0, own));
  PERFORM auto_mutex.save(n);
  RETURN reply;
END $$;
