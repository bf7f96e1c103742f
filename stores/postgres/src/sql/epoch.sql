-- Whether the server has lost its locks, and from when on it grants again. `epoch_tables.sql` has the tables.

-- The number of promotions and restored backups, as the log of the server tells it. (That in `pg_control_checkpoint`
-- comes only with the next checkpoint.)
CREATE FUNCTION auto_mutex.timeline() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint;
EXCEPTION WHEN OTHERS THEN
  RETURN 0;
END $$;

-- Tells a copy of the database (a dump that was restored, a fork) from the original. On Aurora, whose tables are in a
-- storage of its own, the start of the process shows a failover, whatever has become of the tables. `known` is what it
-- was before: if the owner of these functions may not see the server's number, or may again, that is no reason to take
-- it for another server.
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
  RETURN concat_ws(':', number, 'auto_mutex.epoch'::regclass::oid,
    CASE WHEN to_regproc('pg_catalog.aurora_version') IS NOT NULL THEN extract(epoch FROM pg_postmaster_start_time()) END);
END $$;

-- What an administrator has changed so that locks are not safe, and what undoes it. NULL if nothing is wrong.
CREATE FUNCTION auto_mutex.fault() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format('its table %s %s: `ALTER TABLE %s %s`', oid::regclass, wrong, oid::regclass, cure) FROM pg_class,
    LATERAL (VALUES
      (relowner <> current_user::regrole, 'belongs to another role than its functions', format('OWNER TO %I', current_user)),
      (relforcerowsecurity, 'has row-level security for its owner, too', 'NO FORCE ROW LEVEL SECURITY'),
      (relpersistence <> 'u' AND relname <> 'history', 'is no longer unlogged, so that a crash may go unnoticed', 'SET UNLOGGED')
    ) AS faults (is_there, wrong, cure)
    WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r' AND is_there
    LIMIT 1
$$;

-- Begins an epoch if the locks were lost, and returns the epoch with the time from which the server grants, or 0.
-- A client reports its longest lease; 0 is that of a reader, who changes nothing.
CREATE FUNCTION auto_mutex.find_epoch(longest_ms bigint, lag_ms bigint, now bigint)
RETURNS TABLE (id uuid, opens bigint, at bigint, cause text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  week CONSTANT bigint := auto_mutex.clock(now) / 604800000000;
  here text;
  line CONSTANT bigint := auto_mutex.timeline();
  e auto_mutex.epoch;
  h auto_mutex.history;
BEGIN
  SELECT * INTO e FROM auto_mutex.epoch;
  SELECT * INTO h FROM auto_mutex.history;
  here := auto_mutex.server(coalesce(e.server, h.server));
  at := auto_mutex.clock(now);
  IF longest_ms > 0 AND (e.id IS NULL OR e.server <> here OR h.one IS NULL OR h.week < week OR h.lease_ms < longest_ms) THEN
    -- The history must outlive a crash. A standby that is down is no reason to wait.
    PERFORM set_config('synchronous_commit', 'local', true);
    LOOP
      SELECT * INTO h FROM auto_mutex.history FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO auto_mutex.history VALUES (true, here, line, 0, week, 0, 0) ON CONFLICT DO NOTHING;
    END LOOP;
    SELECT * INTO e FROM auto_mutex.epoch;
    -- Read after the lock: the time of an epoch must not be before the end of the one before.
    at := auto_mutex.clock(now);
    IF h.week < week THEN
      h.earlier_ms := CASE WHEN h.week = week - 1 THEN h.lease_ms ELSE 0 END;
      h.lease_ms := 0;
      h.week := week;
    END IF;
    h.lease_ms := greatest(h.lease_ms, longest_ms);
    IF e.id IS NULL OR e.server <> here THEN
      e := ROW(true, gen_random_uuid(), here, at,
        CASE WHEN h.server = here AND h.timeline = line THEN 'restart' ELSE 'failover' END, at)::auto_mutex.epoch;
      DELETE FROM auto_mutex.epoch;
      INSERT INTO auto_mutex.epoch VALUES (e.*);
      -- If only some tables were lost, the others count what is gone.
      UPDATE auto_mutex.names AS x SET
        held = (SELECT count(*) FROM auto_mutex.tickets WHERE name = x.name AND line = 0) + ((x.sole).ticket IS NOT NULL)::integer,
        waiting = (SELECT count(*) FROM auto_mutex.tickets WHERE name = x.name AND line > 0),
        signals = (SELECT count(*) FROM auto_mutex.signals WHERE name = x.name),
        gone = (SELECT count(*) FROM auto_mutex.gone WHERE name = x.name), soonest = 0;
      IF e.cause = 'failover' THEN
        h.promoted := at;
      END IF;
      h.server := here;
      h.timeline := line;
    END IF;
    UPDATE auto_mutex.history AS x SET
      server = h.server, timeline = h.timeline, promoted = h.promoted, week = h.week, lease_ms = h.lease_ms,
      earlier_ms = h.earlier_ms;
  END IF;
  IF longest_ms > 0 AND (e.began > at OR h.promoted > at) THEN
    -- The clock was stepped back.
    UPDATE auto_mutex.epoch SET began = least(began, at);
    UPDATE auto_mutex.history SET promoted = least(promoted, at);
  END IF;
  longest_ms := greatest(longest_ms, h.lease_ms, h.earlier_ms);
  id := e.id;
  cause := e.cause;
  opens := 0;
  IF e.began > 0 THEN
    opens := least(e.began, at) + 1000 * longest_ms;
  END IF;
  IF h.promoted > 0 THEN
    opens := greatest(opens, least(h.promoted, at) + 1000 * (longest_ms + lag_ms));
  END IF;
  IF opens <= at THEN
    opens := 0;
  END IF;
  RETURN NEXT;
END $$;

-- The same for a client, after a look at the tables. If an administrator has changed them, the epoch ends, and `cause`
-- says how. Missing ones are made again.
CREATE FUNCTION auto_mutex.begin_epoch(longest_ms bigint, lag_ms bigint, now bigint)
RETURNS TABLE (id uuid, opens bigint, at bigint, cause text) LANGUAGE plpgsql @DEFINER@ AS $$
BEGIN
  cause := auto_mutex.fault();
  IF cause IS NOT NULL OR @COUNT@ > (SELECT count(*) FROM pg_class WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r') THEN
    BEGIN
      PERFORM auto_mutex.make_tables();
      DELETE FROM auto_mutex.epoch;
    EXCEPTION WHEN insufficient_privilege THEN
    END;
  END IF;
  IF cause IS NULL THEN
    RETURN QUERY SELECT * FROM auto_mutex.find_epoch(longest_ms, lag_ms, now);
  ELSE
    RETURN NEXT;
  END IF;
END $$;

-- The same for one who only looks.
CREATE FUNCTION auto_mutex.see_epoch(lag_ms bigint) RETURNS TABLE (id uuid, opens bigint, at bigint, cause text)
LANGUAGE sql @DEFINER@ AS $$
  SELECT * FROM auto_mutex.find_epoch(0, lag_ms, NULL)
$$;

-- Whether the server has the same locks as when it named this epoch.
CREATE FUNCTION auto_mutex.is_epoch(wanted uuid) RETURNS boolean LANGUAGE sql STABLE @DEFINER@ AS $$
  SELECT EXISTS (SELECT FROM auto_mutex.epoch WHERE id = wanted)
$$;

-- Forgets what nobody has used for long, if no client has done so in the last ten seconds.
CREATE FUNCTION auto_mutex.tidy(now bigint) RETURNS void LANGUAGE plpgsql @DEFINER@ AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
BEGIN
  UPDATE auto_mutex.epoch SET tidied = at WHERE at NOT BETWEEN tidied AND tidied + 10000000;
  IF FOUND THEN
    PERFORM auto_mutex.forget_idle(20000, now);
  END IF;
END $$;
