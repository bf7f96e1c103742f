//! The size of the tables.

use super::peer::Peer;
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
        let compact = "SELECT auto_mutex.compact($1)";
        client.query_one(compact, &[&MEGABYTE]).await.unwrap();
        let row = client.query_one("SELECT auto_mutex.size()", &[]).await;
        let size: i64 = row.unwrap().get(0);
        assert!(size < 2 * MEGABYTE, "{size} bytes");
    }
    let count = "SELECT count(*) FROM auto_mutex.names";
    let names: i64 = client.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(names, 200);
    idle.batch_execute("ROLLBACK").await.unwrap();
}
