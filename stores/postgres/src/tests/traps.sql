-- What a neighbour may do who has no right but CREATE in a schema: casts to its types; functions and operators with the
-- names of all that our SQL uses, for each list of types that could fit better; tables and types with the names of
-- those of the catalog. `caught` notes who runs one.
SET client_min_messages = error;
SET search_path = pg_catalog, pg_temp;
CREATE TABLE public.caught (who text, what text);
GRANT INSERT ON public.caught TO PUBLIC;
CREATE TYPE public.mine AS (x pg_catalog.int4);
CREATE FUNCTION public.to_mine(pg_catalog.text) RETURNS public.mine LANGUAGE plpgsql
  AS 'BEGIN INSERT INTO public.caught VALUES (current_user, ''a cast''); RETURN NULL; END';
CREATE CAST (pg_catalog.text AS public.mine) WITH FUNCTION public.to_mine(pg_catalog.text) AS IMPLICIT;
CREATE FUNCTION public.to_mine(pg_catalog.int8) RETURNS public.mine LANGUAGE plpgsql
  AS 'BEGIN INSERT INTO public.caught VALUES (current_user, ''a cast''); RETURN NULL; END';
CREATE CAST (pg_catalog.int8 AS public.mine) WITH FUNCTION public.to_mine(pg_catalog.int8) AS IMPLICIT;
DO $traps$
DECLARE
  script CONSTANT text := $script$@SCRIPT@$script$;
  words CONSTANT text[] := (SELECT array_agg(DISTINCT m[1]) FROM regexp_matches(script, '[a-z_0-9]+', 'g') AS m);
  types CONSTANT text[] := ARRAY['pg_catalog.int8', 'pg_catalog.int4', 'pg_catalog.int2', 'pg_catalog.text', 'pg_catalog.name',
    'pg_catalog.uuid', 'pg_catalog.bool', 'pg_catalog.numeric', 'pg_catalog.jsonb', 'pg_catalog.oid', 'pg_catalog.text[]'];
  few CONSTANT text[] := types[1:6];
  none CONSTANT text[] := ARRAY[NULL];
  thing record;
  arguments text;
  body text;
BEGIN
  FOR thing IN
    SELECT DISTINCT proname AS name, pronargs AS count FROM pg_proc
      WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (words) AND pronargs <= 3
    UNION SELECT 'aurora_version', 0
  LOOP
    body := format('BEGIN INSERT INTO public.caught VALUES (current_user, %L); RETURN NULL; END', thing.name);
    FOR arguments IN
      SELECT concat_ws(', ', a, b, c) FROM
        unnest(CASE WHEN thing.count = 0 THEN none WHEN thing.count < 3 THEN types ELSE few END) AS a,
        unnest(CASE WHEN thing.count < 2 THEN none WHEN thing.count < 3 THEN types ELSE few END) AS b,
        unnest(CASE WHEN thing.count < 3 THEN none ELSE few END) AS c
    LOOP
      EXECUTE format('CREATE OR REPLACE FUNCTION public.%I(%s) RETURNS pg_catalog.text LANGUAGE plpgsql AS %L', thing.name, arguments, body);
    END LOOP;
  END LOOP;
  FOR thing IN
    SELECT DISTINCT oprname AS name, a, b FROM pg_operator, unnest(types) AS a, unnest(types) AS b
      WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b' AND position(' ' || oprname || ' ' IN script) > 0
  LOOP
    body := format('BEGIN INSERT INTO public.caught VALUES (current_user, %L); RETURN NULL; END', thing.name);
    arguments := format('public.trap_%s', md5(thing.name || thing.a || thing.b));
    EXECUTE format('CREATE FUNCTION %s(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', arguments, thing.a, thing.b,
      CASE WHEN thing.name ~ '[=<>]$' AND thing.name !~ '<<|>>' THEN 'pg_catalog.bool' ELSE 'pg_catalog.text' END, body);
    EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s)', thing.name, thing.a, thing.b, arguments);
  END LOOP;
  FOR thing IN SELECT relname AS name FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relname = ANY (words) LOOP
    EXECUTE format('CREATE TABLE public.%I (oid pg_catalog.oid)', thing.name);
  END LOOP;
  FOR thing IN SELECT typname AS name FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typname = ANY (words) AND typtype = 'b' LOOP
    IF to_regtype('public.' || thing.name) IS NULL THEN
      EXECUTE format('CREATE DOMAIN public.%I AS pg_catalog.box', thing.name);
    END IF;
  END LOOP;
END $traps$;
