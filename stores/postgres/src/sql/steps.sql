-- What most operations share: the first step (`open`), the last one (`finish`), and the reply about a ticket.

CREATE FUNCTION auto_mutex.clock(now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

CREATE FUNCTION auto_mutex.id(ticket uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT replace(ticket::text, '-', '')
$$;

-- Sends a message to a member. Returns `false` if the member is not there: it neither listens, nor has it asked for its
-- mail lately.
CREATE FUNCTION auto_mutex.publish(receiver uuid, message text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(NULL);
  m auto_mutex.members;
BEGIN
  SELECT * INTO m FROM auto_mutex.members WHERE member = receiver;
  -- A process is not kept from a lock by itself: a member that sends to itself is there.
  IF m.pid = pg_backend_pid() OR NOT pg_try_advisory_xact_lock_shared(m.presence) THEN
    -- A full queue would fail the whole operation, when it commits. Members also ask by themselves.
    IF pg_notification_queue_usage() < 0.9 THEN
      -- As an expression, it needs no query.
      RETURN pg_notify(auto_mutex.id(m.channel), message) IS NOT NULL;
    END IF;
    RETURN true;
  END IF;
  IF m.presence IS NULL AND m.heard > at - 4000000 THEN
    INSERT INTO auto_mutex.mail VALUES (receiver, at, message);
    RETURN true;
  END IF;
  RETURN false;
END $$;

-- Makes this process the one that may listen for a member. `chosen` is random: nobody can have locked it before.
-- Returns the process that did so before, if it is there. If it has not locked one of `before`, which only its client
-- knows, it is that of a copy of the client, and stays: the result is 0.
CREATE FUNCTION auto_mutex.enter(listener uuid, channel uuid, chosen bigint, before bigint[]) RETURNS integer
LANGUAGE plpgsql @DEFINER@ AS $$
#variable_conflict use_variable
DECLARE
  earlier integer;
BEGIN
  SELECT CASE WHEN m.presence = ANY (before) THEN m.pid ELSE 0 END INTO earlier
    FROM auto_mutex.members AS m JOIN pg_locks AS l USING (pid)
    WHERE m.member = listener AND m.pid <> pg_backend_pid() AND l.locktype = 'advisory' AND l.objsubid = 1
      AND l.mode = 'ExclusiveLock' AND l.granted AND l.classid::bigint << 32 | l.objid::bigint = m.presence;
  IF earlier = 0 THEN
    RETURN earlier;
  END IF;
  PERFORM pg_try_advisory_lock(chosen);
  INSERT INTO auto_mutex.members AS x VALUES (listener, auto_mutex.clock(NULL), channel, pg_backend_pid(), chosen)
    ON CONFLICT (member) DO UPDATE SET
      heard = excluded.heard, channel = excluded.channel, pid = excluded.pid, presence = excluded.presence;
  RETURN earlier;
END $$;

-- Starts or stops listening. Each message wakes all processes of the database that listen, so a client without locks
-- does not.
CREATE FUNCTION auto_mutex.hear(listener uuid, listens boolean) RETURNS void LANGUAGE plpgsql @DEFINER@ AS $$
DECLARE
  own CONSTANT uuid := (SELECT channel FROM auto_mutex.members WHERE member = listener AND pid = pg_backend_pid());
BEGIN
  -- Without this, LISTEN fails after the server has removed the files of a long queue.
  PERFORM pg_notification_queue_usage();
  -- In a query of its own, it would stand in `pg_stat_activity`.
  EXECUTE format(CASE WHEN listens THEN 'LISTEN %I' ELSE 'UNLISTEN %I' END, auto_mutex.id(own));
END $$;

-- Returns the messages for a member that does not listen, and deletes them.
CREATE FUNCTION auto_mutex.read_mail(reader uuid) RETURNS text[] LANGUAGE plpgsql @DEFINER@ AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(NULL);
  messages text[];
BEGIN
  PERFORM FROM auto_mutex.members WHERE member = reader AND heard BETWEEN at - 500000 AND at;
  IF NOT FOUND THEN
    INSERT INTO auto_mutex.members VALUES (reader, at) ON CONFLICT (member) DO UPDATE SET heard = excluded.heard;
  END IF;
  WITH gone AS (
    DELETE FROM auto_mutex.mail WHERE member = reader RETURNING sent, message
  )
  SELECT coalesce(array_agg(message ORDER BY sent), '{}') INTO messages FROM gone;
  RETURN messages;
END $$;

CREATE FUNCTION auto_mutex.forget(INOUT n auto_mutex.names) LANGUAGE plpgsql AS $$
BEGIN
  IF n.held = 0 AND n.waiting = 0 THEN
    n.cap := NULL;
    n.seq := 0;
  END IF;
  IF n.last > 0 AND n.signals = 0 AND NOT EXISTS (
    SELECT FROM auto_mutex.tickets WHERE name = n.name AND line = 0 AND number IS NOT NULL
  ) THEN
    n.last := 0;
  END IF;
END $$;

-- Returns a signal to its position.
CREATE FUNCTION auto_mutex.put_back(INOUT n auto_mutex.names, number bigint, text text) LANGUAGE plpgsql AS $$
BEGIN
  IF number IS NOT NULL THEN
    INSERT INTO auto_mutex.signals VALUES (n.name, number, text);
    n.signals := n.signals + 1;
  END IF;
END $$;

-- The row of the name, locked until the operation's end, with the operation's time in `clk`. All tickets are in their
-- table then, and what has ended is gone. `own` is the operation's ticket. A release still finds a plain holder whose
-- lease has ended.
CREATE FUNCTION auto_mutex.open(wanted text, own uuid, releases boolean, now bigint) RETURNS auto_mutex.names
LANGUAGE plpgsql AS $$
DECLARE
  n auto_mutex.names;
  t auto_mutex.tickets;
  at bigint;
  removed integer;
BEGIN
  LOOP
    SELECT * INTO n FROM auto_mutex.names WHERE name = wanted FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO auto_mutex.names VALUES (wanted, 0, NULL, 0, 0, 0, false, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
  END LOOP;
  -- The lock may have taken a while.
  at := auto_mutex.clock(now);
  IF (n.sole).ticket IS NOT NULL THEN
    INSERT INTO auto_mutex.tickets SELECT (n.sole).*;
    n.soonest := (n.sole).ends;
    n.sole := NULL;
  END IF;
  IF at < n.clk THEN
    -- The clock was stepped back.
    UPDATE auto_mutex.tickets SET
      ends = CASE
        WHEN line = 0 THEN least(ends, at + 1000 * CASE WHEN flag = 1 THEN least(hold_ms, @CLAIM_MS@) ELSE hold_ms END)
        ELSE least(heard, at) + 1000 * place_ms
      END,
      heard = least(heard, at), told = least(told, at)
      WHERE name = wanted;
    UPDATE auto_mutex.gone SET until = least(until, at + @TOMBSTONE_US@) WHERE name = wanted;
    n.soonest := 0;
  END IF;
  n.clk := at;
  IF n.gone > 0 THEN
    DELETE FROM auto_mutex.gone WHERE name = wanted AND until <= at;
    GET DIAGNOSTICS removed = ROW_COUNT;
    n.gone := n.gone - removed;
  END IF;
  IF n.soonest <= at THEN
    FOR t IN
      SELECT * FROM auto_mutex.tickets
        WHERE name = wanted AND line = 0 AND ends <= at AND NOT (releases AND ticket IS NOT DISTINCT FROM own AND flag = 0)
        ORDER BY ticket IS DISTINCT FROM own, ends, ticket LIMIT @BATCH@
    LOOP
      n.held := n.held - 1;
      IF t.flag = 1 AND t.heard + 1000 * t.place_ms > at THEN
        -- The member touched after the grant, but could not claim the signal, because the store was closed.
        UPDATE auto_mutex.tickets SET
          flag = 0, told = 0, token = 0, number = NULL, text = NULL, ends = t.heard + 1000 * t.place_ms,
          line = CASE WHEN t.number IS NOT NULL AND t.heard > t.ends - 1000 * least(t.hold_ms, @CLAIM_MS@) THEN 1 ELSE 2 END
          WHERE name = wanted AND ticket = t.ticket;
        n.waiting := n.waiting + 1;
      ELSE
        DELETE FROM auto_mutex.tickets WHERE name = wanted AND ticket = t.ticket;
      END IF;
      n := auto_mutex.put_back(n, t.number, t.text);
    END LOOP;
    IF n.waiting > 0 THEN
      DELETE FROM auto_mutex.tickets WHERE name = wanted AND ticket IN (
        SELECT ticket FROM auto_mutex.tickets WHERE name = wanted AND line > 0 AND ends <= at
          ORDER BY ticket IS DISTINCT FROM own, ends, ticket LIMIT @BATCH@
      );
      GET DIAGNOSTICS removed = ROW_COUNT;
      n.waiting := n.waiting - removed;
    END IF;
    n.soonest := coalesce((SELECT min(ends) FROM auto_mutex.tickets WHERE name = wanted), 9223372036854775807);
  END IF;
  IF n.held + n.waiting = 0 OR n.last > 0 THEN
    n := auto_mutex.forget(n);
  END IF;
  RETURN n;
END $$;

-- Writes the row, with the ticket in it if that is the only one and a plain holder. Returns the reply.
CREATE FUNCTION auto_mutex.save(n auto_mutex.names, reply text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  t auto_mutex.tickets;
BEGIN
  IF n.held = 1 AND n.waiting = 0 THEN
    DELETE FROM auto_mutex.tickets WHERE name = n.name AND flag = 0 AND number IS NULL RETURNING * INTO t;
    IF FOUND THEN
      n.sole := t;
    END IF;
  END IF;
  UPDATE auto_mutex.names SET
    tok = n.tok, cap = n.cap, seq = n.seq, clk = n.clk, last = n.last, known = n.known, held = n.held, waiting = n.waiting,
    signals = n.signals, gone = n.gone, soonest = n.soonest, kick_at = n.kick_at, kick_token = n.kick_token, kick_by = n.kick_by, sole = n.sole
    WHERE name = n.name;
  RETURN reply;
END $$;

-- The units that the holders use.
CREATE FUNCTION auto_mutex.used(wanted text, after bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(units), 0)::bigint FROM auto_mutex.tickets
    WHERE name = wanted AND line = 0 AND ends > after AND number IS NULL);
END $$;

-- The same for all holders, in most cases without a query.
CREATE FUNCTION auto_mutex.in_use(wanted text, held integer, cap bigint, last bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN held = 0 THEN 0 WHEN cap = 1 AND last = 0 THEN 1 ELSE auto_mutex.used(wanted, 0) END
$$;

-- Grants to a waiter, or passes it over if it is unlikely to claim the grant.
CREATE FUNCTION auto_mutex.give(
  INOUT n auto_mutex.names, caller uuid, own uuid, t auto_mutex.tickets, signal bigint, signal_text text
) LANGUAGE plpgsql AS $$
DECLARE
  is_own CONSTANT boolean := t.ticket IS NOT DISTINCT FROM own;
  new_token CONSTANT bigint := greatest(n.clk, n.tok + 1);
  lease CONSTANT bigint := CASE WHEN is_own THEN t.hold_ms ELSE least(t.hold_ms, @CLAIM_MS@) END;
  message text;
BEGIN
  IF NOT is_own THEN
    message := 'grant ' || auto_mutex.id(t.ticket) || ' ' || new_token || ' ' || t.counter || ' ' || lease || ' ' || n.name
      || coalesce(' ' || signal_text, '');
    IF octet_length(message) > 7999 THEN
      -- That is the limit of notifications.
      message := 'ask ' || auto_mutex.id(t.ticket) || ' ' || n.name;
    END IF;
    IF signal IS NULL AND t.units = n.cap AND n.clk - greatest(t.heard, t.told) > @CLAIM_US@ AND t.member <> caller
      OR NOT auto_mutex.publish(t.member, message)
    THEN
      UPDATE auto_mutex.tickets SET told = 0, line = 2 WHERE name = n.name AND ticket = t.ticket;
      RETURN;
    END IF;
  END IF;
  UPDATE auto_mutex.tickets SET
    line = 0, flag = CASE WHEN is_own THEN 0 ELSE 1 END, token = new_token, number = signal, text = signal_text,
    ends = n.clk + 1000 * lease
    WHERE name = n.name AND ticket = t.ticket;
  IF signal IS NOT NULL THEN
    DELETE FROM auto_mutex.signals WHERE name = n.name AND number = signal;
    n.signals := n.signals - 1;
  END IF;
  n.soonest := least(n.soonest, n.clk + 1000 * lease);
  n.tok := new_token;
  n.held := n.held + 1;
  n.waiting := n.waiting - 1;
END $$;

-- Grants to the waiters in order, while there is room.
CREATE FUNCTION auto_mutex.grant_all(INOUT n auto_mutex.names, opens bigint, caller uuid, own uuid) LANGUAGE plpgsql AS $$
DECLARE
  t auto_mutex.tickets;
  signal auto_mutex.signals;
BEGIN
  IF n.waiting > 0 AND n.clk >= opens THEN
    FOR tries IN 1..@BATCH@ LOOP
      SELECT * INTO t FROM auto_mutex.tickets WHERE name = n.name AND line = 1 ORDER BY place LIMIT 1;
      EXIT WHEN NOT FOUND;
      signal := NULL;
      IF t.takes AND n.signals > 0 THEN
        SELECT * INTO signal FROM auto_mutex.signals WHERE name = n.name ORDER BY number LIMIT 1;
      ELSIF auto_mutex.in_use(n.name, n.held, n.cap, n.last) + t.units > n.cap THEN
        EXIT;
      END IF;
      n := auto_mutex.give(n, caller, own, t, signal.number, signal.text);
    END LOOP;
  END IF;
  IF n.waiting > 0 THEN
    LOOP
      SELECT * INTO t FROM (
        SELECT * FROM auto_mutex.tickets WHERE name = n.name AND line = 1 ORDER BY place LIMIT @NEAR@
      ) AS near WHERE told = 0 LIMIT 1;
      EXIT WHEN NOT FOUND;
      UPDATE auto_mutex.tickets SET told = n.clk WHERE name = n.name AND ticket = t.ticket;
      IF t.ticket IS DISTINCT FROM own THEN
        PERFORM auto_mutex.publish(t.member, 'near ' || auto_mutex.id(t.ticket) || ' ' || n.name);
      END IF;
    END LOOP;
  END IF;
  IF n.held + n.waiting = 0 OR n.last > 0 THEN
    n := auto_mutex.forget(n);
  END IF;
END $$;

-- The reply to one who does not wait: `BUSY`, and ` token meta` of the holder that has held for the longest. If the
-- only holder is a keeper of another member, it is recalled; if the lock is unused, the reply is `KEPT`.
CREATE FUNCTION auto_mutex.busy(n auto_mutex.names, caller uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  t auto_mutex.tickets;
  is_kept boolean := false;
BEGIN
  SELECT * INTO t FROM auto_mutex.tickets WHERE name = n.name AND line = 0 ORDER BY token, place LIMIT 1;
  IF n.held = 1 AND t.retain > 0 AND t.member <> caller THEN
    PERFORM auto_mutex.publish(t.member, 'recall ' || auto_mutex.id(t.ticket) || ' ' || n.name);
    is_kept := t.retain = 2;
  END IF;
  RETURN CASE WHEN is_kept THEN 'KEPT' ELSE 'BUSY' END || coalesce(' ' || t.token || ' ' || t.meta, '');
END $$;

-- The reply about a ticket after granting. Whoever only tries does not wait.
CREATE FUNCTION auto_mutex.status(n auto_mutex.names, opens bigint, caller uuid, own uuid, tries boolean) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  at CONSTANT bigint := n.clk;
  t auto_mutex.tickets;
  position bigint;
  soon bigint;
  first_end bigint;
  reply text;
BEGIN
  SELECT * INTO t FROM auto_mutex.tickets WHERE name = n.name AND ticket = own;
  IF NOT FOUND THEN
    RETURN 'GONE';
  END IF;
  soon := least(@NEAR_MS@, t.place_ms / 3);
  IF at < opens AND t.flag = 1 THEN
    RETURN 'QUEUED 1 ' || greatest(1, least(soon, (opens - at + 999) / 1000 + 1));
  END IF;
  IF t.line <> 1 THEN
    RETURN 'GRANTED ' || t.token || coalesce(' ' || t.text, '');
  END IF;
  reply := auto_mutex.busy(n, caller);
  IF tries THEN
    RETURN reply;
  END IF;
  IF t.place = n.seq THEN
    -- It is the last one.
    SELECT n.waiting - count(*) INTO position FROM auto_mutex.tickets WHERE name = n.name AND line = 2;
  ELSE
    SELECT count(*) INTO position FROM auto_mutex.tickets WHERE name = n.name AND line = 1 AND place <= t.place;
  END IF;
  IF position <= @NEAR@ THEN
    SELECT min(ends) INTO first_end FROM auto_mutex.tickets WHERE name = n.name AND line = 0;
    IF at < opens THEN
      first_end := greatest(coalesce(first_end, 0), opens);
    END IF;
    IF first_end IS NOT NULL THEN
      soon := least(soon, (greatest(0, first_end - at) + 999) / 1000 + 1);
    END IF;
  ELSIF t.told = 0 AND pg_notification_queue_usage() < 0.5 THEN
    -- Until then it learns of its grant by a message only: the queue must not become full before.
    soon := t.place_ms / 3;
  END IF;
  RETURN 'QUEUED ' || position || ' ' || greatest(1, soon) || substr(reply, 5);
END $$;

-- The last step: grants to waiters and writes the row. Without a reply, that about the ticket is returned.
CREATE FUNCTION auto_mutex.finish(n auto_mutex.names, opens bigint, caller uuid, own uuid, reply text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  n := auto_mutex.grant_all(n, opens, caller, own);
  RETURN auto_mutex.save(n, coalesce(reply, auto_mutex.status(n, opens, caller, own, false)));
END $$;
