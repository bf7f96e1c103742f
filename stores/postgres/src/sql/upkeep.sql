-- What one client of the store does for all, once in a while.

-- How large the tables and indexes are, in bytes.
CREATE FUNCTION auto_mutex.size() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
    WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r' AND relpersistence = 'u' AND relname <> 'fences'
$$;

-- Forgets names that nobody has used for ten minutes, at most `most` at a time. Returns how many.
CREATE FUNCTION auto_mutex.forget_idle(most integer, now bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
  idle CONSTANT bigint := at - 600000000;
  forgotten integer;
BEGIN
  WITH ended AS (
    DELETE FROM auto_mutex.gone AS g WHERE until <= idle
  ), unused AS (
    SELECT name FROM auto_mutex.names
      WHERE held = 0 AND waiting = 0 AND signals = 0 AND greatest(clk, tok) <= idle
        AND (kick_at IS NULL OR kick_at <= at - 86400000000)
      LIMIT most FOR UPDATE SKIP LOCKED
  ), unfenced AS (
    SELECT f.name FROM auto_mutex.fences AS f JOIN unused USING (name) FOR UPDATE OF f SKIP LOCKED
  ), deleted AS (
    DELETE FROM auto_mutex.fences AS f USING unfenced WHERE f.name = unfenced.name
  )
  DELETE FROM auto_mutex.names AS n USING unused WHERE n.name = unused.name;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $$;

-- Rewrites the tables if old row versions fill most of them. A transaction that holds an old snapshot keeps the server
-- from removing those versions; a table that is emptied and filled again has none. Operations wait for the milliseconds
-- that this takes, and it gives up if an operation makes it wait. Returns whether it did so.
CREATE FUNCTION auto_mutex.compact(smallest bigint) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '20ms' AS $$
DECLARE
  part text;
BEGIN
  IF auto_mutex.size() < smallest OR NOT pg_try_advisory_xact_lock(7272, 1) THEN
    RETURN false;
  END IF;
  BEGIN
    LOCK TABLE auto_mutex.names, auto_mutex.tickets, auto_mutex.signals, auto_mutex.gone IN ACCESS EXCLUSIVE MODE;
  EXCEPTION WHEN lock_not_available THEN
    RETURN false;
  END;
  FOREACH part IN ARRAY ARRAY['names', 'tickets', 'signals', 'gone'] LOOP
    EXECUTE format('CREATE TEMPORARY TABLE kept ON COMMIT DROP AS SELECT * FROM auto_mutex.%I', part);
    EXECUTE format('TRUNCATE auto_mutex.%I', part);
    EXECUTE format('INSERT INTO auto_mutex.%I SELECT * FROM kept', part);
    DROP TABLE kept;
  END LOOP;
  RETURN true;
END $$;
