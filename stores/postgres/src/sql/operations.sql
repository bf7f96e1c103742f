-- A function for each operation: see docs/protocol.md. `opens` is when the store grants again, or 0. `now` is NULL but
-- in tests.

-- Renews a holder or a waiter. Returns `false` if the ticket is unknown or parked.
CREATE FUNCTION auto_mutex.renew(
  n auto_mutex.names, t auto_mutex.tickets, opens bigint, new_counter bigint, new_hold_ms bigint, new_place_ms bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  holds CONSTANT boolean := t.line = 0;
BEGIN
  IF t.ticket IS NULL OR t.flag = 2 THEN
    RETURN false;
  END IF;
  -- A late copy may ask for a shorter lease than the request on which the member relies.
  IF holds AND t.flag = 0 AND new_counter < t.counter THEN
    RETURN true;
  END IF;
  t.counter := greatest(t.counter, new_counter);
  t.heard := n.clk;
  t.place_ms := new_place_ms;
  -- Before the store grants again, a grant is neither extended nor withdrawn, because the member may rely on it.
  IF n.clk >= opens OR t.flag <> 1 THEN
    t.hold_ms := new_hold_ms;
    t.ends := n.clk + 1000 * CASE WHEN holds THEN new_hold_ms ELSE new_place_ms END;
    t.flag := 0;
    IF NOT holds THEN
      t.told := 0;
      t.line := 1;
    END IF;
  END IF;
  UPDATE auto_mutex.tickets SET
    counter = t.counter, heard = t.heard, place_ms = t.place_ms, hold_ms = t.hold_ms, ends = t.ends, flag = t.flag, told = t.told,
    line = t.line
    WHERE name = n.name AND ticket = t.ticket;
  RETURN true;
END $$;

-- Whether the ticket has a tombstone.
CREATE FUNCTION auto_mutex.is_gone(wanted text, own uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM auto_mutex.gone WHERE name = wanted AND ticket = own);
END $$;

CREATE FUNCTION auto_mutex.bury(INOUT n auto_mutex.names, own uuid) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO auto_mutex.gone VALUES (n.name, own, n.clk + @TOMBSTONE_US@)
    ON CONFLICT (name, ticket) DO UPDATE SET until = excluded.until;
  SELECT count(*) INTO n.gone FROM auto_mutex.gone AS x WHERE x.name = n.name;
END $$;

-- Tickets of a semaphore may come with several capacities, while a new version of a program is rolled out: the smallest
-- counts, unless somebody asks for more units. NULL if they do not agree.
CREATE FUNCTION auto_mutex.agree(wanted text, units bigint, capacity bigint, takes boolean) RETURNS bigint LANGUAGE sql STABLE AS $$
  WITH asked AS (
    SELECT x.units, x.cap, x.takes FROM auto_mutex.tickets AS x WHERE x.name = wanted
    UNION ALL SELECT units, capacity, takes
  )
  -- A mutex takes no signal.
  SELECT min(a.cap) FROM asked AS a
    HAVING bool_and(a.cap > 1 AND a.cap <> @RW_LOCK@ OR a.cap = 1 AND a.takes) AND max(a.units) <= min(a.cap)
$$;

CREATE FUNCTION auto_mutex.acquire(
  wanted text, caller uuid, own uuid, counter bigint, units bigint, capacity bigint, takes boolean, hold_ms bigint,
  place_ms bigint, retain smallint, tries boolean, meta text, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
  n auto_mutex.names;
  t auto_mutex.tickets;
  granted bigint;
  agreed bigint;
  reply text;
  kept text;
BEGIN
  IF at >= opens AND units <= capacity THEN
    -- Usually, the name is free.
    UPDATE auto_mutex.names AS x SET
      tok = greatest(at, tok + 1), known = true, cap = capacity, seq = at, clk = at, last = 0, held = 1,
      sole = ROW(wanted, own, caller, 0, at, at + 1000 * hold_ms, units, capacity, takes, NULL, NULL, hold_ms, place_ms, counter, at, at,
        greatest(at, tok + 1), 0, retain, meta)::auto_mutex.tickets
      WHERE x.name = wanted AND held = 0 AND waiting = 0 AND x.signals = 0 AND x.gone = 0 AND clk <= at
      RETURNING tok INTO granted;
    IF FOUND THEN
      RETURN 'GRANTED ' || granted;
    END IF;
  END IF;
  n := auto_mutex.open(wanted, own, false, now);
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.ticket = own;
  IF units > capacity AND NOT takes THEN
    reply := 'TOO_MANY';
  ELSIF t.flag = 2 OR n.gone > 0 AND auto_mutex.is_gone(wanted, own) THEN
    reply := 'REFUSED';
  ELSIF t.ticket IS NULL AND n.cap <> capacity THEN
    agreed := auto_mutex.agree(wanted, units, capacity, takes);
    IF agreed IS NULL THEN
      SELECT 'MISMATCH ' || x.cap || ' ' || x.takes::integer INTO reply FROM auto_mutex.tickets AS x
        WHERE x.name = wanted ORDER BY x.cap, x.line, x.token, x.place LIMIT 1;
    END IF;
  END IF;
  IF reply IS NOT NULL THEN
    n := auto_mutex.grant_all(n, opens, caller, NULL);
    IF reply LIKE 'MISMATCH%' THEN
      kept := auto_mutex.busy(n, caller);
    END IF;
    RETURN auto_mutex.save(n, CASE WHEN kept LIKE 'KEPT%' THEN kept ELSE reply END);
  END IF;
  IF t.ticket IS NULL OR NOT auto_mutex.renew(n, t, opens, counter, hold_ms, place_ms) THEN
    n.seq := greatest(n.clk, n.seq + 1);
    n.known := true;
    n.cap := coalesce(agreed, capacity);
    n.waiting := n.waiting + 1;
    INSERT INTO auto_mutex.tickets VALUES (
      wanted, own, caller, 1, n.seq, n.clk + 1000 * place_ms, units, capacity, takes, NULL, NULL, hold_ms, place_ms, counter,
      n.clk, n.clk, 0, 0, retain, meta
    );
  ELSIF t.line > 0 THEN
    UPDATE auto_mutex.tickets AS x SET meta = meta WHERE x.name = wanted AND x.ticket = own AND x.meta <> meta;
  END IF;
  n.soonest := least(n.soonest, n.clk + 1000 * least(hold_ms, place_ms));
  n := auto_mutex.grant_all(n, opens, caller, own);
  reply := auto_mutex.status(n, opens, caller, own, tries);
  IF reply LIKE 'GRANTED%' THEN
    RETURN auto_mutex.save(n, reply);
  END IF;
  IF greatest(retain, t.retain) > 0 THEN
    UPDATE auto_mutex.tickets AS x SET retain = 0 WHERE x.name = wanted AND x.ticket = own AND x.retain <> 0;
  END IF;
  IF tries AND reply LIKE 'QUEUED%' THEN
    -- A grant that cannot be claimed now stays.
    reply := 'BUSY';
  ELSIF tries THEN
    DELETE FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.ticket = own;
    n.waiting := n.waiting - 1;
    n := auto_mutex.forget(n);
  END IF;
  RETURN auto_mutex.save(n, reply);
END $$;

CREATE FUNCTION auto_mutex.touch(
  wanted text, caller uuid, own uuid, counter bigint, units bigint, hold_ms bigint, place_ms bigint, retain smallint,
  opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
  n auto_mutex.names;
  t auto_mutex.tickets;
  known boolean;
  mark smallint := 0;
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
  n := auto_mutex.open(wanted, own, false, now);
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.ticket = own;
  known := auto_mutex.renew(n, t, opens, counter, hold_ms, place_ms);
  n.soonest := least(n.soonest, n.clk + 1000 * least(hold_ms, place_ms));
  IF known AND t.line = 0 AND NOT (t.flag = 0 AND counter < t.counter) THEN
    IF n.clk >= opens AND n.held = 1 AND t.number IS NULL THEN
      mark := retain;
    END IF;
    IF units > 0 AND units < t.units THEN
      UPDATE auto_mutex.tickets AS x SET units = units WHERE x.name = wanted AND x.ticket = own;
    END IF;
    IF n.clk >= opens OR t.flag <> 1 THEN
      -- The calls since the last touch have used fencing tokens up to this one.
      IF mark = 2 OR mark = 1 AND t.retain = 2 THEN
        n.tok := greatest(n.clk, n.tok + 1);
        UPDATE auto_mutex.tickets AS x SET token = n.tok WHERE x.name = wanted AND x.ticket = own;
      END IF;
      UPDATE auto_mutex.tickets AS x SET retain = mark WHERE x.name = wanted AND x.ticket = own AND x.retain <> mark;
    END IF;
  END IF;
  RETURN auto_mutex.finish(n, opens, caller, own, CASE WHEN NOT known THEN 'GONE' END);
END $$;

CREATE FUNCTION auto_mutex.release(
  wanted text, caller uuid, own uuid, park_ms bigint, tomb boolean, used bigint, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
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
  n := auto_mutex.open(wanted, own, true, now);
  capacity := coalesce(n.cap, 0);
  DELETE FROM auto_mutex.tickets AS x
    WHERE x.name = wanted AND x.ticket = own AND (x.line > 0 OR x.flag <> 2 AND (park_ms = 0 OR x.number IS NOT NULL))
    RETURNING * INTO t;
  IF t.line > 0 THEN
    n.waiting := n.waiting - 1;
    reply := 'CANCELLED';
  ELSIF t.line = 0 THEN
    n.held := n.held - 1;
    IF t.token <> used THEN
      n := auto_mutex.put_back(n, t.number, t.text);
    END IF;
  ELSE
    SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.ticket = own;
    IF t.flag <> 2 THEN
      UPDATE auto_mutex.tickets AS x SET flag = 2, retain = 0, hold_ms = park_ms, ends = n.clk + 1000 * park_ms
        WHERE x.name = wanted AND x.ticket = own;
      n.soonest := least(n.soonest, n.clk + 1000 * park_ms);
    END IF;
  END IF;
  IF tomb THEN
    n := auto_mutex.bury(n, own);
  END IF;
  n := auto_mutex.grant_all(n, opens, caller, NULL);
  IF t.line = 0 THEN
    reply := 'RELEASED ' || greatest(0, capacity - auto_mutex.in_use(n.name, n.held, n.cap, n.last)) + n.signals;
  END IF;
  RETURN auto_mutex.save(n, reply);
END $$;

-- Runs plain operations together, sorted by name: so two callers never wait for each other. For each name, `leaving` is
-- released, and `own` acquires, or, without `meta`, touches. Returns all replies in order. For a release with an
-- acquire, one write is enough in most cases.
CREATE FUNCTION auto_mutex.run(
  wanted text[], caller uuid, leaving uuid[], own uuid[], counter bigint[], units bigint[], capacity bigint[], takes boolean[],
  hold_ms bigint[], place_ms bigint[], retain smallint[], tries boolean[], meta text[], opens bigint, now bigint
) RETURNS text[] LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  at bigint;
  granted bigint;
  replies text[] := '{}';
BEGIN
  FOR i IN 1..cardinality(wanted) LOOP
    at := auto_mutex.clock(now);
    IF leaving[i] IS NOT NULL AND meta[i] IS NOT NULL AND at >= opens AND units[i] <= capacity[i] THEN
      -- Usually, the only ticket leaves.
      UPDATE auto_mutex.names AS x SET
        tok = greatest(at, tok + 1), seq = at, clk = at, last = 0,
        sole = ROW(wanted[i], own[i], caller, 0, at, at + 1000 * hold_ms[i], units[i], capacity[i], takes[i], NULL, NULL, hold_ms[i],
          place_ms[i], counter[i], at, at, greatest(at, tok + 1), 0, retain[i], meta[i])::auto_mutex.tickets
        WHERE x.name = wanted[i] AND (x.sole).ticket = leaving[i] AND x.cap = capacity[i] AND x.clk <= at AND x.gone = 0 AND x.signals = 0
        RETURNING tok INTO granted;
      IF FOUND THEN
        replies := replies || ARRAY['RELEASED ' || capacity[i], 'GRANTED ' || granted];
        CONTINUE;
      END IF;
    END IF;
    IF leaving[i] IS NOT NULL THEN
      replies := replies || auto_mutex.release(wanted[i], caller, leaving[i], 0, false, 0, opens, now);
    END IF;
    IF meta[i] IS NOT NULL THEN
      replies := replies || auto_mutex.acquire(wanted[i], caller, own[i], counter[i], units[i], capacity[i], takes[i], hold_ms[i],
        place_ms[i], retain[i], tries[i], meta[i], opens, now);
    ELSIF own[i] IS NOT NULL THEN
      replies := replies || auto_mutex.touch(wanted[i], caller, own[i], counter[i], units[i], hold_ms[i], place_ms[i], retain[i], opens, now);
    END IF;
  END LOOP;
  RETURN replies;
END $$;

CREATE FUNCTION auto_mutex.adopt(
  wanted text, caller uuid, old uuid, own uuid, counter bigint, hold_ms bigint, place_ms bigint, meta text, opens bigint,
  now bigint
) RETURNS text LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.open(wanted, own, false, now);
  t auto_mutex.tickets;
  had auto_mutex.tickets;
  refusal text;
BEGIN
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.ticket = own;
  SELECT * INTO had FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.ticket = old;
  IF n.gone > 0 AND auto_mutex.is_gone(wanted, own) THEN
    refusal := 'REFUSED';
  ELSIF NOT auto_mutex.renew(n, t, opens, counter, hold_ms, place_ms) THEN
    IF t.ticket IS NOT NULL OR had.line IS DISTINCT FROM 0 OR had.flag = 2 THEN
      refusal := 'GONE';
    ELSIF n.clk < opens THEN
      refusal := 'BUSY';
    ELSE
      n.tok := greatest(n.clk, n.tok + 1);
      UPDATE auto_mutex.tickets AS x SET
        ticket = own, member = caller, hold_ms = hold_ms, place_ms = place_ms, counter = counter, heard = n.clk, told = 0,
        token = n.tok, flag = 0, retain = 0, meta = meta, ends = n.clk + 1000 * hold_ms
        WHERE x.name = wanted AND x.ticket = old;
    END IF;
  END IF;
  n.soonest := least(n.soonest, n.clk + 1000 * least(hold_ms, place_ms));
  RETURN auto_mutex.finish(n, opens, caller, own, refusal);
END $$;

-- Drops the holders, or the one with this token if it is not NULL.
CREATE FUNCTION auto_mutex.drop_holders(
  wanted text, caller uuid, token bigint, kicked_by text, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.open(wanted, NULL, false, now);
  t auto_mutex.tickets;
  dropped integer := 0;
  used integer := 0;
BEGIN
  FOR t IN
    DELETE FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.line = 0 AND (token IS NULL OR x.token = token) RETURNING *
  LOOP
    dropped := dropped + 1;
    -- No call is inside of a lock that is only kept.
    IF token IS NOT NULL OR t.retain < 2 THEN
      used := used + 1;
    END IF;
    PERFORM auto_mutex.publish(t.member, 'lost ' || auto_mutex.id(t.ticket) || ' ' || wanted);
    n := auto_mutex.put_back(n, t.number, t.text);
  END LOOP;
  n.held := n.held - dropped;
  IF token IS NOT NULL AND dropped > 0 THEN
    n.kick_at := n.clk;
    n.kick_token := token;
    n.kick_by := kicked_by;
  END IF;
  RETURN auto_mutex.finish(n, opens, caller, NULL, 'COUNT ' || used);
END $$;

CREATE FUNCTION auto_mutex.signal(
  wanted text, caller uuid, own uuid, kind text, signal_text text, opens bigint, now bigint
) RETURNS text LANGUAGE plpgsql @DEFINER@ AS $$
DECLARE
  n auto_mutex.names := auto_mutex.open(wanted, own, false, now);
  unserved CONSTANT bigint := greatest(0, n.waiting - n.signals);
  added CONSTANT bigint := CASE kind WHEN 'token' THEN 1 WHEN 'one' THEN least(1, unserved) ELSE unserved END;
  refused CONSTANT boolean := n.gone > 0 AND auto_mutex.is_gone(wanted, own);
BEGIN
  IF NOT refused THEN
    IF kind = 'token' THEN
      n.known := true;
      n := auto_mutex.bury(n, own);
    END IF;
    INSERT INTO auto_mutex.signals
      SELECT n.name, n.last + number, CASE kind WHEN 'token' THEN signal_text ELSE auto_mutex.id(own) END
      FROM generate_series(1, added) AS number;
    n.last := n.last + added;
    n.signals := n.signals + added;
  END IF;
  RETURN auto_mutex.finish(n, opens, caller, NULL, CASE WHEN refused THEN 'REFUSED' ELSE 'COUNT ' || added END);
END $$;

CREATE FUNCTION auto_mutex.remove(wanted text, caller uuid, opens bigint, now bigint) RETURNS text LANGUAGE plpgsql @DEFINER@ AS $$
DECLARE
  n auto_mutex.names := auto_mutex.open(wanted, NULL, false, now);
  reply text;
BEGIN
  n := auto_mutex.grant_all(n, opens, caller, NULL);
  IF n.held + n.waiting > 0 THEN
    reply := 'IN_USE ' || n.held || ' ' || n.waiting;
  ELSE
    reply := 'COUNT ' || (n.known OR n.signals > 0)::integer;
    DELETE FROM auto_mutex.signals WHERE name = wanted;
    n.signals := 0;
    n.known := false;
    n.last := 0;
  END IF;
  RETURN auto_mutex.save(n, reply);
END $$;

CREATE FUNCTION auto_mutex.probe(wanted text, caller uuid, receiver uuid, text text) RETURNS text
LANGUAGE sql @DEFINER@ AS $$
  SELECT 'COUNT ' || auto_mutex.publish(receiver, 'probe ' || auto_mutex.id(caller) || ' ' || wanted || ' ' || text)::integer
$$;

-- The state of a name, with a row for each ticket: of one moment, although nothing is locked. No row if the name is
-- unknown. Not stable: its moment is after that of the caller's query, and after it has the tables, which `compact` may
-- rewrite meanwhile.
CREATE FUNCTION auto_mutex.inspect(wanted text, above bigint, now bigint) RETURNS TABLE (
  at bigint, token bigint, capacity bigint, used bigint, signals bigint, is_known boolean, kick_at bigint, kick_token bigint, kick_by text,
  ticket text, member text, units bigint, takes boolean, since bigint, own_token bigint, meta text, time_left bigint, is_parked boolean,
  is_passed_over boolean, is_kept boolean, holds boolean
) LANGUAGE sql @DEFINER@ AS $$
  WITH n AS MATERIALIZED (
    SELECT x.*, auto_mutex.clock(now) AS at FROM auto_mutex.names AS x WHERE x.name = wanted
  ), tickets AS (
    SELECT t.* FROM auto_mutex.tickets AS t WHERE t.name = wanted
    UNION ALL
    SELECT (n.sole).* FROM n WHERE (n.sole).ticket IS NOT NULL
  ), left_over AS (
    SELECT count(*) AS count FROM tickets AS t, n WHERE t.line = 0 AND t.ends <= n.at AND t.number IS NOT NULL
  )
  SELECT
    n.at, n.tok, CASE WHEN n.held + n.waiting > 0 THEN n.cap END,
    CASE WHEN (n.sole).ticket IS NULL THEN auto_mutex.used(wanted, n.at) WHEN (n.sole).ends > n.at THEN (n.sole).units ELSE 0 END,
    n.signals + o.count, n.known OR n.signals + o.count > 0, k.at, k.token, k.by,
    auto_mutex.id(t.ticket), auto_mutex.id(t.member), t.units, t.takes, CASE WHEN t.token = 0 THEN t.place ELSE t.token END, t.token, t.meta,
    t.ends - n.at, t.flag = 2, t.line = 2, t.retain = 2, t.line = 0
  FROM n CROSS JOIN left_over AS o
    LEFT JOIN (SELECT n.kick_at AS at, n.kick_token AS token, n.kick_by AS by FROM n WHERE above = 0 AND n.at < n.kick_at + @SIGNALS_KEPT_US@) AS k ON true
    LEFT JOIN tickets AS t ON t.ends > n.at AND (t.line = 0 OR above = 0 OR above < n.cap)
  ORDER BY t.line = 0 DESC, CASE WHEN t.line = 0 THEN t.token END, t.place
$$;

-- The names after `name`, in their order, and whether each is idle.
CREATE FUNCTION auto_mutex.scan(after text, most bigint) RETURNS TABLE (name text, is_idle boolean) LANGUAGE sql STABLE @DEFINER@ AS $$
  SELECT n.name, n.held = 0 AND n.waiting = 0 AND n.signals = 0 FROM auto_mutex.names AS n WHERE n.name > after ORDER BY n.name LIMIT most
$$;

-- Raises the token of a holder, for the grants of a quorum.
CREATE FUNCTION auto_mutex.raise(wanted text, caller uuid, own uuid, token bigint, opens bigint, now bigint) RETURNS text
LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  n auto_mutex.names := auto_mutex.open(wanted, own, false, now);
  t auto_mutex.tickets;
  reply text;
BEGIN
  SELECT * INTO t FROM auto_mutex.tickets AS x WHERE x.name = wanted AND x.ticket = own;
  IF t.line IS DISTINCT FROM 0 OR t.flag = 2 THEN
    reply := 'GONE';
  ELSIF t.token < token THEN
    n.tok := greatest(token, n.tok + 1);
    UPDATE auto_mutex.tickets AS x SET token = n.tok WHERE x.name = wanted AND x.ticket = own;
  END IF;
  n := auto_mutex.grant_all(n, opens, caller, NULL);
  RETURN auto_mutex.save(n, coalesce(reply, auto_mutex.status(n, 0, caller, own, false)));
END $$;
