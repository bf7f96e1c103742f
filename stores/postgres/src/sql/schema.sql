-- Makes the schema, or a newer one of an old one. Of several that run it, one goes first.
SELECT pg_advisory_xact_lock(7272, 38);

DO $schema$
DECLARE
  found CONSTANT text := (SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = 'auto_mutex');
  version CONSTANT integer[] := string_to_array(substring(found FROM '^@MARK@(\d+\.\d+)$'), '.')::integer[];
  made text := '';
BEGIN
  IF version IS NULL AND found IS NOT NULL THEN
    RAISE EXCEPTION 'the schema auto_mutex is not of auto-mutex: rename it, or use another database';
  ELSIF version > string_to_array('@VERSION@', '.')::integer[] THEN
    RAISE EXCEPTION 'the schema auto_mutex is of a newer version of auto-mutex (%)', found;
  END IF;
  -- Other tables: the locks in the old ones are lost, as in a crash.
  IF version[1] < '@TABLES@' THEN
    SELECT greatest(lease_ms, earlier_ms, 1) INTO made FROM auto_mutex.note;
    DROP SCHEMA auto_mutex CASCADE;
  ELSIF found IS NULL THEN
    made := 0;
  END IF;
  PERFORM set_config('auto_mutex.made', made, true);
  IF made > '' THEN
    CREATE SCHEMA auto_mutex;
@PARTS@
  END IF;
END $schema$;

-- Functions may be replaced while older clients call them.
@RULES@
INSERT INTO auto_mutex.term
  SELECT true, gen_random_uuid(), auto_mutex.server(), CASE made WHEN '0' THEN 0 ELSE auto_mutex.clock(NULL) END, 'restart', 0
  FROM current_setting('auto_mutex.made') AS made WHERE made > '';
-- What the old note said of a promotion is gone, and one may just have happened: as if it had.
INSERT INTO auto_mutex.note
  SELECT true, server, auto_mutex.timeline(), began, auto_mutex.clock(NULL) / 604800000000, made::bigint, 0
  FROM auto_mutex.term, current_setting('auto_mutex.made') AS made WHERE made > '';
COMMENT ON SCHEMA auto_mutex IS '@MARK@@VERSION@';
