-- What one client of the store does for all, once in a while.

-- How large the tables and indexes are, in bytes.
CREATE FUNCTION auto_mutex.size() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
    WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r' AND relpersistence = 'u' AND relname <> 'fences'
$$;

-- Forgets names that nobody has used for ten minutes, at most `most` at a time. Returns how many. A name with a ticket is
-- forgotten ten minutes later, if the ticket ended with the lease of a client that died.
CREATE FUNCTION auto_mutex.forget_idle(most integer, now bigint) RETURNS integer LANGUAGE plpgsql SET enable_seqscan = on AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
  idle CONSTANT bigint := at - 600000000;
  forgotten integer;
BEGIN
  PERFORM auto_mutex.save(auto_mutex.open(name, NULL, false, now), NULL) FROM (
    SELECT name FROM auto_mutex.names WHERE clk <= idle AND held + waiting + gone > 0 LIMIT most FOR UPDATE SKIP LOCKED
  ) AS used;
  WITH unused AS (
    SELECT name FROM auto_mutex.names
      WHERE held + waiting + signals + gone = 0 AND greatest(clk, tok) <= idle
        AND (kick_at IS NULL OR kick_at <= at - 86400000000)
      LIMIT most FOR UPDATE SKIP LOCKED
  ), unfenced AS (
    SELECT f.name FROM auto_mutex.fences AS f JOIN unused USING (name) FOR UPDATE OF f SKIP LOCKED
  ), deleted AS (
    DELETE FROM auto_mutex.fences AS f USING unfenced WHERE f.name = unfenced.name
  )
  DELETE FROM auto_mutex.names AS n USING unused WHERE n.name = unused.name;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  DELETE FROM auto_mutex.mailboxes WHERE heard <= idle;
  DELETE FROM auto_mutex.mail WHERE ctid IN (
    SELECT ctid FROM auto_mutex.mail WHERE sent <= idle FOR UPDATE SKIP LOCKED
  );
  RETURN forgotten;
END $$;

-- Rewrites the tables if old row versions fill most of them, or each operation has to read past many. A transaction that holds an old
-- snapshot keeps the server from removing those versions; a table that is emptied and filled again has none. Operations wait for the
-- milliseconds that this takes, and then plan their queries again, so it leaves tables with many rows alone, and gives up if an
-- operation makes it wait. Returns whether it did so.
CREATE FUNCTION auto_mutex.compact(smallest bigint) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '20ms' AS $$
DECLARE
  parts CONSTANT text[] := ARRAY['names', 'tickets', 'signals', 'gone', 'mail', 'mailboxes'];
  live CONSTANT bigint := (SELECT sum(pg_stat_get_live_tuples(format('auto_mutex.%I', name)::regclass)) FROM unnest(parts) AS name);
  -- In this table, old versions stay for no other reason.
  old CONSTANT bigint := pg_stat_get_dead_tuples('auto_mutex.names'::regclass);
  part text;
  kept text;
BEGIN
  IF live > 50000 OR old < 2000 + least(100 * live, 50000) AND auto_mutex.size() < greatest(smallest, 2000 * live)
    OR NOT pg_try_advisory_xact_lock(7272, 1)
  THEN
    RETURN false;
  END IF;
  BEGIN
    LOCK TABLE auto_mutex.names, auto_mutex.tickets, auto_mutex.signals, auto_mutex.gone, auto_mutex.mail, auto_mutex.mailboxes
      IN ACCESS EXCLUSIVE MODE;
  EXCEPTION WHEN lock_not_available THEN
    RETURN false;
  END;
  FOREACH part IN ARRAY parts LOOP
    -- In a variable, because a user may lack the right to temporary tables.
    EXECUTE format('SELECT array_agg(t)::text FROM auto_mutex.%I AS t', part) INTO kept;
    EXECUTE format('TRUNCATE auto_mutex.%I', part);
    EXECUTE format('INSERT INTO auto_mutex.%1$I SELECT * FROM unnest($1::auto_mutex.%1$I[])', part) USING kept;
  END LOOP;
  RETURN true;
END $$;
