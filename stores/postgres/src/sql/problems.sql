-- What is wrong with a server: for the command `doctor`. A user without `pg_read_all_stats` sees less.
SELECT 'logged-tables', 'its table ' || oid::regclass || ' is no longer unlogged: grants are slow, and a standby that takes over has old locks',
    'ALTER TABLE ' || oid::regclass || ' SET UNLOGGED'
  FROM pg_class
  WHERE relnamespace = 'auto_mutex'::regnamespace AND relkind = 'r' AND relpersistence = 'p' AND relname <> 'history'
UNION ALL
SELECT 'table-size', format('its tables of locks take %s MiB', auto_mutex.size() >> 20),
    'look in pg_stat_activity for a transaction that has been open for long (backend_xmin, xact_start): it keeps old versions of rows'
  WHERE auto_mutex.size() > 268435456
UNION ALL
(SELECT 'old-snapshot', format('process %s of user %s has had a transaction open for %s: old versions of rows stay, and each operation reads them',
      pid, usename, date_trunc('second', now() - xact_start)),
    format('SELECT pg_terminate_backend(%s), and set idle_in_transaction_session_timeout', pid)
  FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND coalesce(backend_xmin, backend_xid) IS NOT NULL
    AND xact_start < now() - interval '10 minutes'
  ORDER BY xact_start LIMIT 1)
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
