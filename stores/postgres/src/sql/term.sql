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
-- its own, the start of the process shows a failover, whatever has become of the tables.
CREATE FUNCTION auto_mutex.server() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  place text := 'auto_mutex.term'::regclass::oid;
BEGIN
  IF to_regproc('aurora_version') IS NOT NULL THEN
    place := place || ':' || extract(epoch FROM pg_postmaster_start_time());
  END IF;
  RETURN (SELECT system_identifier FROM pg_control_system()) || ':' || place;
EXCEPTION WHEN OTHERS THEN
  RETURN place;
END $$;

-- Begins a term if the locks were lost, and returns the term with the time from which the server grants, or 0. A client reports
-- its longest lease; 0 is that of a reader, who changes nothing.
CREATE FUNCTION auto_mutex.begin_term(longest_ms bigint, lag_ms bigint, now bigint)
RETURNS TABLE (id uuid, opens bigint, at bigint, cause text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  week CONSTANT bigint := auto_mutex.clock(now) / 604800000000;
  here CONSTANT text := auto_mutex.server();
  line CONSTANT bigint := auto_mutex.timeline();
  t auto_mutex.term;
  n auto_mutex.note;
BEGIN
  SELECT * INTO t FROM auto_mutex.term;
  SELECT * INTO n FROM auto_mutex.note;
  at := auto_mutex.clock(now);
  IF longest_ms > 0 AND (t.id IS NULL OR t.server <> here OR n.one IS NULL OR n.week < week OR n.lease_ms < longest_ms) THEN
    -- What the note says must outlive a crash.
    IF current_setting('synchronous_commit') = 'off' THEN
      PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
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

-- Tidies up, if no client has done so in the last ten seconds: until the tables are rewritten, each old version slows a cycle down.
CREATE FUNCTION auto_mutex.tidy(now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
BEGIN
  UPDATE auto_mutex.term SET tidied = at WHERE at NOT BETWEEN tidied AND tidied + 10000000;
  IF FOUND THEN
    PERFORM auto_mutex.forget_idle(1000, now);
    PERFORM auto_mutex.compact(16777216);
  END IF;
END $$;
