-- What one client of the store does for all, once in a while.

-- How large the tables and indexes are, in bytes.
CREATE FUNCTION auto_mutex.size() RETURNS bigint LANGUAGE sql STABLE @DEFINER@ AS $$
  SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
    WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r' AND relpersistence = 'u' AND relname <> 'fences'
$$;

-- Forgets names that nobody has used for ten minutes, or for a day if they have signals: at most `most` at a time.
-- Returns how many. A name with a ticket is forgotten ten minutes later, if the ticket ended with the lease of a client
-- that died.
CREATE FUNCTION auto_mutex.forget_idle(most integer, now bigint) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = on AS $$
DECLARE
  at CONSTANT bigint := auto_mutex.clock(now);
  idle CONSTANT bigint := at - @KEPT_US@;
  day CONSTANT bigint := at - @SIGNALS_KEPT_US@;
  forgotten integer;
BEGIN
  PERFORM auto_mutex.save(auto_mutex.open(name, NULL, false, now), NULL) FROM (
    SELECT name FROM auto_mutex.names WHERE clk <= idle AND held + waiting + gone > 0 LIMIT most FOR UPDATE SKIP LOCKED
  ) AS used;
  WITH unused AS (
    SELECT name FROM auto_mutex.names
      WHERE held + waiting + gone = 0 AND greatest(clk, tok) <= CASE signals WHEN 0 THEN idle ELSE day END
        AND (kick_at IS NULL OR kick_at <= day)
      LIMIT most FOR UPDATE SKIP LOCKED
  ), unfenced AS (
    SELECT f.name FROM auto_mutex.fences AS f JOIN unused USING (name) FOR UPDATE OF f SKIP LOCKED
  ), deleted AS (
    DELETE FROM auto_mutex.fences AS f USING unfenced WHERE f.name = unfenced.name
  ), unsignalled AS (
    DELETE FROM auto_mutex.signals AS s USING unused WHERE s.name = unused.name
  )
  DELETE FROM auto_mutex.names AS n USING unused WHERE n.name = unused.name;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  DELETE FROM auto_mutex.members WHERE heard <= idle AND (presence IS NULL OR pg_try_advisory_xact_lock(presence));
  DELETE FROM auto_mutex.mail WHERE ctid IN (
    SELECT ctid FROM auto_mutex.mail WHERE sent <= idle FOR UPDATE SKIP LOCKED
  );
  RETURN forgotten;
END $$;

-- Empties the tables and fills them again, which removes old versions of rows that a transaction with an old snapshot
-- keeps `VACUUM` from removing. Operations wait meanwhile. For the owner: clients never do so.
CREATE FUNCTION auto_mutex.compact() RETURNS void LANGUAGE plpgsql @DEFINER@ AS $$
DECLARE
  part text;
  kept text;
BEGIN
  LOCK TABLE auto_mutex.names, auto_mutex.tickets, auto_mutex.signals, auto_mutex.gone, auto_mutex.mail, auto_mutex.members
    IN ACCESS EXCLUSIVE MODE;
  FOREACH part IN ARRAY ARRAY['names', 'tickets', 'signals', 'gone', 'mail', 'members'] LOOP
    -- In a variable, because a user may lack the right to temporary tables.
    EXECUTE format('SELECT array_agg(t)::text FROM auto_mutex.%I AS t', part) INTO kept;
    EXECUTE format('TRUNCATE auto_mutex.%I', part);
    EXECUTE format('INSERT INTO auto_mutex.%1$I SELECT * FROM unnest($1::auto_mutex.%1$I[])', part) USING kept;
  END LOOP;
END $$;
