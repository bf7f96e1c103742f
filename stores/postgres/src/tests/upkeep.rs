//! The size of the tables.

use std::time::Duration;

use auto_mutex_core::store::{Mode, Reply, Ticket};
use tokio::time::sleep;
use tokio_postgres::Client;

use super::peer::{Peer, acquire, release, touch};
use super::server::shared;

const MEGABYTE: i64 = 1 << 20;
/// Ten cycles of each of 200 names.
const CYCLES: &str = "SELECT \
    auto_mutex.acquire('n' || n, m, m, 1, 1, 1, false, '', 10000, 10000, 0::int2, false, 'host 1 site', 0, NULL), \
    auto_mutex.release('n' || n, m, m, 0, false, 0, 0, NULL) \
    FROM generate_series(1, 200) AS n, generate_series(1, 10), gen_random_uuid() AS m";

#[tokio::test]
async fn the_tables_stay_small_beside_an_old_snapshot() {
    let server = shared();
    let database = server.database().await;
    Peer::new(&server.url(&database)).await.end().await;
    let (client, idle) = (server.admin(&database).await, server.admin(&database).await);
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class";
    idle.batch_execute(begin).await.unwrap();
    for _ in 0..5 {
        client.batch_execute(CYCLES).await.unwrap();
        // It gives way to autovacuum.
        let is_small = async || {
            let compact = "SELECT auto_mutex.compact($1) OR auto_mutex.size() < $1";
            client
                .query_one(compact, &[&MEGABYTE])
                .await
                .unwrap()
                .get(0)
        };
        while !is_small().await {}
        let row = client.query_one("SELECT auto_mutex.size()", &[]).await;
        let size: i64 = row.unwrap().get(0);
        assert!(size < 2 * MEGABYTE, "{size} bytes");
    }
    let count = "SELECT count(*) FROM auto_mutex.names";
    let names: i64 = client.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(names, 200);
    idle.batch_execute("ROLLBACK").await.unwrap();
}

/// More than the calls of one name that are left alone.
const CALLS: i64 = 3_000;
const ATTEMPTS: usize = 50;

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Waits until the server has counted that many updates.
async fn counted(client: &Client, updates: i64) {
    let sql =
        "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relid = 'auto_mutex.names'::regclass";
    while number(client, sql).await < updates {
        sleep(Duration::from_millis(100)).await;
    }
}

/// Rewrites the tables if need be, and returns the number of the file of one, which is another one then.
async fn compact(client: &Client) -> i64 {
    let compact = "SELECT auto_mutex.compact(1 << 30)";
    client.query_one(compact, &[]).await.unwrap();
    let file = "SELECT pg_relation_filenode('auto_mutex.names')::bigint";
    number(client, file).await
}

/// All old versions of one row are few bytes, but each operation reads past them.
#[tokio::test]
async fn a_busy_name_is_rewritten_only_beside_an_old_snapshot() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (client, idle) = (server.admin(&database).await, server.admin(&database).await);
    let first = compact(&client).await;
    for _ in 0..CALLS / 2 {
        peer.works().await;
    }
    counted(&client, CALLS).await;
    assert_eq!(compact(&client).await, first);
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class";
    idle.batch_execute(begin).await.unwrap();
    // The server counts later, and while autovacuum is at work on a table, it is left alone. All attempts make less than 16 MB.
    let mut file = first;
    for _ in 0..ATTEMPTS {
        for _ in 0..CALLS / 10 {
            peer.works().await;
        }
        file = compact(&client).await;
        if file != first {
            break;
        }
    }
    assert_ne!(file, first);
    peer.works().await;
    peer.end().await;
    idle.batch_execute("ROLLBACK").await.unwrap();
}

/// How often the table was read as a whole, and how often by an index.
async fn scans(client: &Client) -> (i64, i64) {
    let sql = "SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relid = 'auto_mutex.tickets'::regclass";
    let row = client.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

/// The planner prefers to read the whole of a table that it takes for empty, and a connection keeps its plans.
#[tokio::test]
async fn a_table_that_was_empty_is_not_read_as_a_whole() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    Peer::new(&url).await.end().await;
    let client = server.admin(&database).await;
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while number(&client, others).await > 0 {}
    let analyze = "VACUUM ANALYZE auto_mutex.tickets";
    client.batch_execute(analyze).await.unwrap();
    let (whole, by_index) = scans(&client).await;
    let mut peer = Peer::new(&url).await;
    // More often than the times for which a statement is planned each time.
    for _ in 0..10 {
        let (holder, waiter) = (peer.holds("k").await.0, Ticket::random());
        let queued = peer.ask("k", acquire(waiter, Mode::Queue)).await.unwrap();
        assert!(matches!(queued, Reply::Queued { .. }), "{queued:?}");
        peer.ask("k", touch(holder, 2)).await.unwrap();
        peer.ask("k", release(waiter)).await.unwrap();
        peer.ask("k", release(holder)).await.unwrap();
    }
    peer.end().await;
    // The server counts once the connection has ended.
    let after = loop {
        let (whole, after) = scans(&client).await;
        if after > by_index {
            break whole;
        }
    };
    assert_eq!(after, whole);
}
