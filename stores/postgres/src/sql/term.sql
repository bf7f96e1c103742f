-- Whether the server has lost its locks, and from when on it grants again. `note.sql` has the tables.

-- The number of promotions and restored backups, as the log of the server tells it. (That in `pg_control_checkpoint` comes
-- only with the next checkpoint.)
CREATE FUNCTION auto_mutex.timeline() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint;
EXCEPTION WHEN OTHERS THEN
  RETURN 0;
END $$;

-- Tells a copy of the database (a dump that was restored, a fork) from the original. On Aurora, whose tables are in a storage of
-- its own, the start of the process shows a failover, whatever has become of the tables. `known` is what it was before: if the owner of
-- these functions may not see the server's number, or may again, that is no reason to take it for another server.
CREATE FUNCTION auto_mutex.server(known text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  number text := coalesce(split_part(known, ':', 1), '');
BEGIN
  IF known IS NULL OR number <> '' THEN
    BEGIN
      number := system_identifier FROM pg_control_system();
    EXCEPTION WHEN insufficient_privilege THEN
    END;
  END IF;
  RETURN concat_ws(':', number, 'auto_mutex.term'::regclass::oid,
    CASE WHEN to_regproc('pg_catalog.aurora_version') IS NOT NULL THEN extract(epoch FROM pg_postmaster_start_time()) END);
END $$;

-- What an administrator has changed so that locks are not safe, and what undoes it. NULL if nothing is wrong.
CREATE FUNCTION auto_mutex.fault() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format('its table %s %s: `ALTER TABLE %s %s`', oid::regclass, wrong, oid::regclass, cure) FROM pg_class,
    LATERAL (VALUES
      (relowner <> current_user::regrole, 'belongs to another role than its functions', format('OWNER TO %I', current_user)),
      (relforcerowsecurity, 'has row-level security for its owner, too', 'NO FORCE ROW LEVEL SECURITY'),
      (relpersistence <> 'u' AND relname <> 'note', 'is no longer unlogged, so that a crash may go unnoticed', 'SET UNLOGGED')
    ) AS faults (is_there, wrong, cure)
    WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r' AND is_there
    LIMIT 1
$$;

-- Begins a term if the locks were lost, and returns the term with the time from which the server grants, or 0. A client reports
-- its longest lease; 0 is that of a reader, who changes nothing.
CREATE FUNCTION auto_mutex.find_term(longest_ms bigint, lag_ms bigint, now bigint)
RETURNS TABLE (id uuid, opens bigint, at bigint, cause text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  week CONSTANT bigint := auto_mutex.clock(now) / 604800000000;
  here text;
  line CONSTANT bigint := auto_mutex.timeline();
  t auto_mutex.term;
  n auto_mutex.note;
BEGIN
  SELECT * INTO t FROM auto_mutex.term;
  SELECT * INTO n FROM auto_mutex.note;
  here := auto_mutex.server(coalesce(t.server, n.server));
  at := auto_mutex.clock(now);
  IF longest_ms > 0 AND (t.id IS NULL OR t.server <> here OR n.one IS NULL OR n.week < week OR n.lease_ms < longest_ms) THEN
    -- What the note says must outlive a crash. A standby that is down is no reason to wait.
    PERFORM set_config('synchronous_commit', 'local', true);
    LOOP
      SELECT * INTO n FROM auto_mutex.note FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO auto_mutex.note VALUES (true, here, line, 0, week, 0, 0) ON CONFLICT DO NOTHING;
    END LOOP;
    SELECT * INTO t FROM auto_mutex.term;
    -- Read after the lock: the time of a term must not be before the end of the one before.
    at := auto_mutex.clock(now);
    IF n.week < week THEN
      n.earlier_ms := CASE WHEN n.week = week - 1 THEN n.lease_ms ELSE 0 END;
      n.lease_ms := 0;
      n.week := week;
    END IF;
    n.lease_ms := greatest(n.lease_ms, longest_ms);
    IF t.id IS NULL OR t.server <> here THEN
      t := ROW(true, gen_random_uuid(), here, at,
        CASE WHEN n.server = here AND n.timeline = line THEN 'restart' ELSE 'failover' END, at)::auto_mutex.term;
      DELETE FROM auto_mutex.term;
      INSERT INTO auto_mutex.term VALUES (t.*);
      -- If only some tables were lost, the others count what is gone.
      UPDATE auto_mutex.names AS x SET
        held = (SELECT count(*) FROM auto_mutex.tickets WHERE name = x.name AND line = 0) + ((x.sole).ticket IS NOT NULL)::integer,
        waiting = (SELECT count(*) FROM auto_mutex.tickets WHERE name = x.name AND line > 0),
        signals = (SELECT count(*) FROM auto_mutex.signals WHERE name = x.name),
        gone = (SELECT count(*) FROM auto_mutex.gone WHERE name = x.name), soonest = 0;
      IF t.cause = 'failover' THEN
        n.promoted := at;
      END IF;
      n.server := here;
      n.timeline := line;
    END IF;
    UPDATE auto_mutex.note AS x SET
      server = n.server, timeline = n.timeline, promoted = n.promoted, week = n.week, lease_ms = n.lease_ms,
      earlier_ms = n.earlier_ms;
  END IF;
  IF longest_ms > 0 AND (t.began > at OR n.promoted > at) THEN
    -- The clock was stepped back.
    UPDATE auto_mutex.term SET began = least(began, at);
    UPDATE auto_mutex.note SET promoted = least(promoted, at);
  END IF;
  longest_ms := greatest(longest_ms, n.lease_ms, n.earlier_ms);
  id := t.id;
  cause := t.cause;
  opens := 0;
  IF t.began > 0 THEN
    opens := least(t.began, at) + 1000 * longest_ms;
  END IF;
  IF n.promoted > 0 THEN
    opens := greatest(opens, least(n.promoted, at) + 1000 * (longest_ms + lag_ms));
  END IF;
  IF opens <= at THEN
    opens := 0;
  END IF;
  RETURN NEXT;
END $$;

-- The same for a client, after a look at the tables. If an administrator has changed them, the term ends, and `cause` says how. Missing
-- ones are made again.
CREATE FUNCTION auto_mutex.begin_term(longest_ms bigint, lag_ms bigint, now bigint)
RETURNS TABLE (id uuid, opens bigint, at bigint, cause text) LANGUAGE plpgsql @DEFINER@ AS $$
BEGIN
  cause := auto_mutex.fault();
  IF cause IS NOT NULL OR @COUNT@ > (SELECT count(*) FROM pg_class WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r') THEN
    BEGIN
      PERFORM auto_mutex.make_tables();
      DELETE FROM auto_mutex.term;
    EXCEPTION WHEN insufficient_privilege THEN
    END;
  END IF;
  IF cause IS NULL THEN
    RETURN QUERY SELECT * FROM auto_mutex.find_term(longest_ms, lag_ms, now);
  ELSE
    RETURN NEXT;
  END IF;
END $$;

-- The same for one who only looks.
CREATE FUNCTION auto_mutex.see_term(lag_ms bigint) RETURNS TABLE (id uuid, opens bigint, at bigint, cause text)
LANGUAGE sql @DEFINER@ AS $$
  SELECT * FROM auto_mutex.find_term(0, lag_ms, NULL)
$$;

-- Whether the server has the same locks as when it named this term.
CREATE FUNCTION auto_mutex.is_term(wanted uuid) RETURNS boolean LANGUAGE sql STABLE @DEFINER@ AS $$
  SELECT EXISTS (SELECT FROM auto_mutex.term WHERE id = wanted)
$$;

-- Forgets what nobody has used for long, if no client has done so in the last ten seconds.
CREATE FUNCTION auto_mutex.tidy(now bigint) RETURNS void LANGUAGE plpgsql @DEFINER@ AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
BEGIN
  UPDATE auto_mutex.term SET tidied = at WHERE at NOT BETWEEN tidied AND tidied + 10000000;
  IF FOUND THEN
    PERFORM auto_mutex.forget_idle(20000, now);
  END IF;
END $$;
