-- Makes the schema, or a newer one of an old one: for an administrator, or for the owner of the schema. Of several that
-- make it, one goes first, and the others fail after it.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL client_min_messages = warning;

DO $schema$
DECLARE
  found CONSTANT text := (SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = 'auto_mutex');
  version CONSTANT integer[] := string_to_array(substring(found FROM '^@MARK@(\d+\.\d+)$'), '.')::integer[];
  made text := '';
BEGIN
  IF version IS NULL AND found <> '@MARK@new' THEN
    RAISE EXCEPTION 'the schema auto_mutex is not of auto-mutex: rename it, or use another database';
  ELSIF version > string_to_array('@VERSION@', '.')::integer[] THEN
    RAISE EXCEPTION 'the schema auto_mutex is of a newer version of auto-mutex (%)', found;
  END IF;
  -- Other tables: the locks in the old ones are lost, as in a crash.
  IF version[1] < '@TABLES@' THEN
    -- Before 3.0, the history was called `note`.
    EXECUTE format('SELECT greatest(lease_ms, earlier_ms, 1) FROM %s',
      coalesce(to_regclass('auto_mutex.history'), to_regclass('auto_mutex.note'))) INTO made;
    DROP SCHEMA auto_mutex CASCADE;
  ELSIF version IS NULL THEN
    made := coalesce(nullif(current_setting('auto_mutex.earlier', true), ''), '0');
  END IF;
  PERFORM set_config('auto_mutex.made', made, true);
  IF made > '' THEN
    IF found IS DISTINCT FROM '@MARK@new' THEN
      CREATE SCHEMA auto_mutex;
    END IF;
    -- The functions have the rights of the owner, so that nobody else needs any on the tables: a role that cannot log
    -- in, if this user may make one.
    BEGIN
      IF to_regrole('@OWNER@') IS NULL THEN
        BEGIN
          CREATE ROLE @OWNER@ NOLOGIN;
        EXCEPTION WHEN unique_violation OR duplicate_object THEN -- Made for another database meanwhile.
        END;
      END IF;
      IF NOT pg_has_role('@OWNER@', 'USAGE') THEN
        GRANT @OWNER@ TO CURRENT_USER;
      END IF;
      ALTER SCHEMA auto_mutex OWNER TO @OWNER@;
    EXCEPTION WHEN insufficient_privilege THEN
    END;
  END IF;
  EXECUTE format('SET LOCAL ROLE %I', (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'auto_mutex'));
END $schema$;

CREATE OR REPLACE FUNCTION auto_mutex.make_tables() RETURNS void LANGUAGE plpgsql SET client_min_messages = warning AS $tables$
BEGIN
@PARTS@
END $tables$;
SELECT auto_mutex.make_tables();

-- Functions may be replaced while older clients call them.
@RULES@
REVOKE ALL ON ALL ROUTINES IN SCHEMA auto_mutex FROM PUBLIC;
INSERT INTO auto_mutex.epoch
  SELECT true, gen_random_uuid(), auto_mutex.server(NULL), CASE made WHEN '0' THEN 0 ELSE auto_mutex.clock(NULL) END, 'restart', 0
  FROM current_setting('auto_mutex.made') AS made WHERE made > '';
-- What the old history said of a promotion is gone, and one may just have happened: as if it had.
INSERT INTO auto_mutex.history
  SELECT true, server, auto_mutex.timeline(), began, auto_mutex.clock(NULL) / 604800000000, made::bigint, 0
  FROM auto_mutex.epoch, current_setting('auto_mutex.made') AS made WHERE made > '';
COMMENT ON SCHEMA auto_mutex IS '@MARK@@VERSION@';
