-- What is wrong with a server: for the command `doctor`. It reads catalogs only, which needs no right. What this user
-- may not see is `unknown`. `script.rs` fills in the names.
WITH tables AS (
  SELECT oid::regclass AS name, relowner, relpersistence, relforcerowsecurity, relname <> 'history' AS is_unlogged,
      (SELECT proowner FROM pg_proc WHERE oid = to_regproc('auto_mutex.begin_epoch')) AS owner
    FROM pg_class WHERE relnamespace = to_regnamespace('auto_mutex') AND relkind = 'r'
), needed AS (
  SELECT level, name, to_regproc(name) AS function
    FROM (VALUES (0, '@FUNCTIONS@'), (1, '@LOOKS@'), (2, '@BREAKS@'), (3, '@LOCKS@')) AS levels (level, names),
      unnest(string_to_array(names, ', ')) AS name
), roles AS (
  -- Who may call some functions needs all of that level and of those below. The owner needs all that there are.
  SELECT grantee AS role, max(level) AS most, 1 AS least
    FROM needed JOIN pg_proc ON pg_proc.oid = function, aclexplode(proacl) WHERE level > 0 AND grantee <> proowner GROUP BY grantee
  UNION SELECT proowner, 0, 0 FROM needed JOIN pg_proc ON pg_proc.oid = function
), lacking AS (
  SELECT role, 'EXECUTE ON FUNCTION ' || string_agg(DISTINCT name, ', ') AS what FROM roles JOIN needed ON level BETWEEN least AND most
    WHERE NOT has_function_privilege(role, function, 'EXECUTE') GROUP BY role
  UNION ALL SELECT role, 'USAGE ON SCHEMA auto_mutex' FROM roles WHERE NOT has_schema_privilege(role, to_regnamespace('auto_mutex'), 'USAGE')
)
SELECT 'schema', 'its schema `auto_mutex` is missing: either no program has used locks in this database, or somebody has dropped it with all locks',
    'start a program, or run what `auto-mutex schema --postgres` prints'
  WHERE to_regnamespace('auto_mutex') IS NULL
UNION ALL
SELECT 'schema', format('of its schema `auto_mutex`, these are missing: %s', string_agg(DISTINCT name, ', ')),
    'let its owner run what `auto-mutex schema --postgres` prints: all locks may be lost'
  FROM (
    SELECT name FROM needed WHERE function IS NULL
    UNION ALL SELECT name FROM unnest(string_to_array('@TABLES@', ', ')) AS name WHERE to_regclass(name) IS NULL
  ) AS missing
  WHERE to_regnamespace('auto_mutex') IS NOT NULL HAVING count(*) > 0
UNION ALL
SELECT id, format('its table %s %s', name, wrong), format('ALTER TABLE %s %s', name, cure) FROM tables,
    LATERAL (VALUES
      ('schema', relowner <> owner, 'belongs to another role than its functions: clients refuse it', format('OWNER TO %s', owner::regrole)),
      ('schema', relforcerowsecurity, 'has row-level security for its owner, too: clients refuse it', 'NO FORCE ROW LEVEL SECURITY'),
      ('logged-tables', is_unlogged AND relpersistence = 'p',
        'is no longer unlogged: grants are slow, and a standby that takes over has old locks', 'SET UNLOGGED')
    ) AS faults (id, is_there, wrong, cure)
  WHERE is_there
UNION ALL
SELECT 'rights', format('its role %s lacks %s: calls of its programs fail', grantee, what), format('GRANT %s TO %s', what, grantee)
  FROM lacking, LATERAL (SELECT CASE role WHEN 0 THEN 'PUBLIC' ELSE role::regrole::text END AS grantee) AS named
UNION ALL
SELECT 'table-size', format('its tables of locks take %s MiB', sum(pg_total_relation_size(name))::bigint >> 20),
    'look for what keeps old versions of rows: an open transaction (pg_stat_activity), a prepared one, a replication slot, a standby'
  FROM tables WHERE is_unlogged HAVING sum(pg_total_relation_size(name)) > 268435456
UNION ALL
(SELECT 'old-snapshot', format('process %s of user %s has had a transaction open for %s: old versions of rows stay, and each operation reads them',
      pid, usename, date_trunc('second', now() - xact_start)),
    format('SELECT pg_terminate_backend(%s), and set idle_in_transaction_session_timeout', pid)
  FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND coalesce(backend_xmin, backend_xid) IS NOT NULL
    AND xact_start < now() - interval '10 minutes'
  ORDER BY xact_start LIMIT 1)
UNION ALL
SELECT 'prepared-transaction', format('transaction %L of user %s has been prepared for %s: old versions of rows stay, also after a restart',
      gid, owner, date_trunc('second', now() - prepared)),
    format('in this database: COMMIT PREPARED %L, or ROLLBACK PREPARED %1$L', gid)
  FROM pg_prepared_xacts WHERE database = current_database() AND prepared < now() - interval '10 minutes'
UNION ALL
SELECT 'replication-slot', format('its replication slot %L, which %s, keeps %s', slot_name,
      CASE WHEN active THEN 'is in use' ELSE 'nobody uses' END,
      CASE WHEN xmin IS NULL THEN 'log files (WAL) until the disk is full' ELSE 'old versions of rows, and each operation reads them' END),
    format('start the standby again, or SELECT pg_drop_replication_slot(%L)', slot_name)
  FROM pg_replication_slots
  WHERE NOT active AND coalesce(xmin::text, restart_lsn::text) IS NOT NULL OR age(xmin) > 100000
UNION ALL
SELECT 'standby-feedback', format('its standby %s keeps old versions of rows (hot_standby_feedback), and each operation reads them', application_name),
    'end the long query on that standby, or set hot_standby_feedback = off there'
  FROM pg_stat_replication WHERE age(backend_xmin) > 100000
UNION ALL
SELECT 'unknown', format('not checked: the transactions of %s sessions and the state of %s standbys, which this user may not see', sessions, standbys),
    format('GRANT pg_read_all_stats TO %I', current_user)
  FROM (SELECT count(*) AS sessions FROM pg_stat_activity WHERE datname = current_database() AND backend_type IS NULL) AS a,
    (SELECT count(*) AS standbys FROM pg_stat_replication WHERE state IS NULL) AS b
  WHERE sessions + standbys > 0
UNION ALL
SELECT 'unknown', format('not checked: since when the transactions of %s sessions are open, which do not say so', count(*)),
    'set track_activities = on'
  FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND coalesce(backend_xmin, backend_xid) IS NOT NULL
    AND xact_start IS NULL
  HAVING count(*) > 0
UNION ALL
SELECT 'notification-queue', format('its queue of notifications is full to %s %%: waiters look once a second, and above 90 %% nothing wakes them',
      round(100 * pg_notification_queue_usage())),
    'end the session that listens and has had a transaction open for long: its process is in the log of the server'
  WHERE pg_notification_queue_usage() > 0.5
UNION ALL
SELECT 'listeners', format('%s clients listen in this database: before PostgreSQL 19, each message wakes all of them', count(*)),
    'use a database of its own for the locks, `poll=200ms` in clients that seldom wait, or fewer clients'
  FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'auto_mutex'
    AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1)
  HAVING count(*) > 200 AND current_setting('server_version_num')::int < 190000
