-- Fenced writes: the check of a lock in the transaction that writes, for the crate auto-mutex-fence and for any other
-- program.

-- Waits for the transactions of other holders, and fails unless the ticket holds the lock, and no call after this one
-- has used it. `ours` is the fencing token of the call, which is that of the grant × 1024 and more.
CREATE FUNCTION auto_mutex.fence(wanted text, ours bigint, own uuid) RETURNS bigint LANGUAGE plpgsql
@DEFINER@ @PLANS@ AS $$
DECLARE
  newest bigint;
  at bigint;
  granted bigint;
  holds boolean;
BEGIN
  INSERT INTO auto_mutex.fences AS f VALUES (wanted, ours)
    ON CONFLICT (name) DO UPDATE SET token = greatest(f.token, ours) RETURNING f.token INTO newest;
  at := auto_mutex.clock(NULL);
  SELECT n.tok << 10, (n.sole).ticket IS NOT DISTINCT FROM own AND (n.sole).ends > at OR EXISTS (
      SELECT FROM auto_mutex.tickets WHERE name = wanted AND ticket = own AND line = 0 AND flag <> 2 AND ends > at
    ) INTO granted, holds FROM auto_mutex.names AS n WHERE n.name = wanted;
  IF newest = ours AND holds THEN
    RETURN newest;
  END IF;
  IF newest = ours AND current_setting('transaction_isolation') <> 'read committed' THEN
    -- A serialization failure if the lock has changed since the snapshot.
    PERFORM auto_mutex.open(wanted, NULL, false, NULL);
  END IF;
  -- A name that nobody has used for ten minutes may be forgotten: a ticket that old held it then.
  IF newest > ours OR granted + 1023 >= ours OR (granted IS NULL AND ours >> 10 <= at - @KEPT_US@) THEN
    newest := greatest(newest, granted);
    RAISE 'the lock "%" is lost: the fencing token is %, and the newest is %', wanted, ours, newest
      USING ERRCODE = 'MX001', DETAIL = newest;
  END IF;
  RAISE 'the lock "%" is not in this database', wanted USING ERRCODE = 'MX002';
END $$;
