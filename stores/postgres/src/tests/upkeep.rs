//! The size of the tables.

use auto_mutex_seam::store::{Mode, RandomId, Reply, Ticket};
use tokio_postgres::Client;

use super::peer::{Peer, acquire, release, touch};
use super::server::shared;

/// Ten cycles of each of 200 names.
const CYCLES: &str = "SELECT \
    auto_mutex.acquire('n' || n, m, m, 1, 1, 1, false, 10000, 10000, 0::int2, false, 'host 1 site', 0, NULL), \
    auto_mutex.release('n' || n, m, m, 0, false, 0, 0, NULL) \
    FROM generate_series(1, 200) AS n, generate_series(1, 10), gen_random_uuid() AS m";

/// The owner's command, for a table that is large because of an old snapshot.
#[tokio::test]
async fn compact_removes_old_versions_beside_an_old_snapshot() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (held, _) = peer.holds("held").await;
    let (client, idle) = (server.admin(&database).await, server.admin(&database).await);
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class";
    idle.batch_execute(begin).await.unwrap();
    let size = "SELECT auto_mutex.size()";
    let small = number(&client, size).await;
    while number(&client, size).await < 2 * small {
        client.batch_execute(CYCLES).await.unwrap();
    }
    client
        .batch_execute("SELECT auto_mutex.compact()")
        .await
        .unwrap();
    assert!(number(&client, size).await < 2 * small);
    let names = "SELECT count(*) FROM auto_mutex.names";
    assert_eq!(number(&client, names).await, 201);
    let kept = peer.ask("held", touch(held, 2)).await.unwrap();
    assert!(matches!(kept, Reply::Granted { .. }), "{kept:?}");
    idle.batch_execute("ROLLBACK").await.unwrap();
    peer.end().await;
}

/// A thousand new names a second are forgotten as fast as they come: upkeep has its turn every ten seconds.
#[tokio::test]
async fn names_are_forgotten_as_fast_as_they_come() {
    let server = shared();
    let database = server.database().await;
    Peer::new(&server.url(&database)).await.end().await;
    let client = server.admin(&database).await;
    let come = "INSERT INTO auto_mutex.names SELECT 'n' || n, 0, NULL, 0, 1, 0, true, 0, 0, 0, 0, 0 FROM generate_series(1, 20000) AS n";
    client.batch_execute(come).await.unwrap();
    let now = number(&client, "SELECT auto_mutex.clock(NULL)").await;
    for (seconds, left) in [(0, 0), (10, 10_000), (11, 0)] {
        let tidy = format!("SELECT auto_mutex.tidy({})", now + seconds * 1_000_000);
        client.batch_execute(&tidy).await.unwrap();
        assert_eq!(
            number(&client, "SELECT count(*) FROM auto_mutex.names").await,
            left
        );
        let more = come.replace("20000", "10000").replace("'n'", "'m'");
        client
            .batch_execute(&format!("{more} ON CONFLICT DO NOTHING"))
            .await
            .unwrap();
    }
}

/// Signals that nobody waits for are forgotten after a day, as on Redis.
#[tokio::test]
async fn signals_end_after_a_day() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let client = server.admin(&database).await;
    let put =
        "SELECT auto_mutex.signal('n', id, id, 'token', 'x', 0, NULL) FROM gen_random_uuid() AS id";
    client.query_one(put, &[]).await.unwrap();
    let forget = async |hours: i64| {
        let sql =
            "SELECT auto_mutex.forget_idle(1000, auto_mutex.clock(NULL) + $1::int8 * 3600000000)";
        client.query_one(sql, &[&hours]).await.unwrap();
        number(
            &client,
            "SELECT count(*) + (SELECT count(*) FROM auto_mutex.names) FROM auto_mutex.signals",
        )
        .await
    };
    // Within the first hour, its name forgets the tickets that have ended: that is its last use.
    assert_eq!(forget(1).await, 2);
    assert_eq!(forget(24).await, 2);
    assert_eq!(forget(26).await, 0);
    peer.works().await;
    peer.end().await;
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
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
