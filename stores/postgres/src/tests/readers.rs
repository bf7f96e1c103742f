//! What an operator sees.

use std::collections::BTreeMap;

use auto_mutex_seam::store::{Mode, Name, RandomId, Ticket};
use auto_mutex_seam::{AfterFailover, AfterRestart, Eviction};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::peer::{Peer, acquire, engine, options, release};
use super::server::shared;
use crate::reader::PROBLEMS;

/// More names than fit on a page.
const MANY: &str = "SELECT \
    auto_mutex.acquire('many:' || n, m, m, 1, 1, 1, false, 10000, 10000, 0::int2, false, 'host 1 site', 0, NULL), \
    auto_mutex.release('many:' || n, m, m, 0, false, 0, 0, NULL) \
    FROM generate_series(1, 1100) AS n, gen_random_uuid() AS m";

#[tokio::test]
async fn an_operator_sees_the_names_and_the_server() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let mut reader = engine(&url).reader(&options());
    reader.connect().await.unwrap();
    assert!(reader.scan(0, None, "0").await.unwrap().keys.is_empty());
    let names = ["none"].map(Name::from_escaped);
    assert!(reader.inspect(&names).await.unwrap().names[0].is_ok());
    assert!(reader.describe().await[0].is_ok());
    let mut peer = Peer::new(&url).await;
    let admin = server.admin(&database).await;
    admin.batch_execute(MANY).await.unwrap();
    let (held, token) = peer.holds("app:held").await;
    let waiting = Ticket::random();
    peer.ask("app:held", acquire(waiting, Mode::Queue))
        .await
        .unwrap();
    let (idle, _) = peer.holds("app:idle").await;
    peer.ask("app:idle", release(idle)).await.unwrap();
    reader.connect().await.unwrap();
    let (mut cursor, mut all) = (Some("0".to_owned()), Vec::new());
    while let Some(from) = cursor {
        let page = reader.scan(0, Some("app:*"), &from).await.unwrap();
        all.extend(page.keys);
        cursor = page.next;
    }
    let found: Vec<_> = all
        .iter()
        .map(|key| (key.name.clone().unwrap(), key.idle))
        .collect();
    assert_eq!(
        found,
        [
            ("app:held".to_owned(), false),
            ("app:idle".to_owned(), true)
        ]
    );

    let names = ["app:held", "app:idle", "none"].map(Name::from_escaped);
    let snapshot = reader.inspect(&names).await.unwrap();
    assert!(snapshot.now >= token);
    let [held_state, idle_state, none] = &snapshot.names[..] else {
        panic!("not three");
    };
    let held_state = held_state.as_ref().unwrap();
    assert_eq!(held_state.holders[0].ticket, held);
    assert_eq!(held_state.waiters[0].ticket, waiting);
    assert_eq!(held_state.waiters[0].token, 0);
    assert!(idle_state.as_ref().unwrap().exists);
    assert!(!none.as_ref().unwrap().exists);

    let described = reader.describe().await;
    let described = described[0].as_ref().unwrap();
    assert!(described.version.as_ref().unwrap().starts_with("1"));
    assert_eq!(described.guarantees, peer.store.guarantees());
    assert!(described.clock_ahead_ms.unwrap().abs() < 10_000);
    let guarantees = peer.store.guarantees();
    // The server of the tests runs with `fsync=off`.
    assert_eq!(guarantees.restart, AfterRestart::LastForgotten);
    assert_eq!(guarantees.failover, AfterFailover::NoReplicas);
    assert_eq!(guarantees.eviction, Eviction::Never);
    peer.end().await;
}

/// The meanings and remedies of what is wrong, with some text of the query replaced: most limits are out of a test's reach.
async fn problems(admin: &Client, changes: &[(&str, &str)]) -> BTreeMap<String, (String, String)> {
    let mut query = PROBLEMS.to_owned();
    for (limit, lower) in changes {
        assert_eq!(query.matches(limit).count(), 1, "{limit}");
        query = query.replace(limit, lower);
    }
    let answer = admin.simple_query(&query).await.unwrap();
    let rows = answer.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some([0, 1, 2].map(|index| row.get(index).unwrap())),
        _ => None,
    });
    let found =
        rows.map(|[id, meaning, remedy]| (id.to_owned(), (meaning.to_owned(), remedy.to_owned())));
    found.collect()
}

#[tokio::test]
async fn what_is_wrong_is_found_at_its_limit() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let peer = Peer::new(&url).await;
    // Neither of these listens.
    let polling = Peer::new(&format!("{url}?poll=200ms")).await;
    let mut reader = engine(&url).reader(&options());
    let described = reader.describe().await;
    let described = described[0].as_ref().unwrap();
    let ids: Vec<_> = described.problems.iter().map(|[id, ..]| &**id).collect();
    assert_eq!(ids, [""; 0]);

    let admin = server.admin(&database).await;
    let limits = [
        ("> 268435456", "> 0"),
        ("> 0.5", ">= 0"),
        ("> 200", "> 0"),
        ("interval '10 minutes'", "interval '0'"),
    ];
    let mut found = problems(&admin, &limits).await;
    for _ in 0..20 {
        // The client that polls may be reading its mail.
        if !found.contains_key("old-snapshot") {
            break;
        }
        found = problems(&admin, &limits).await;
    }
    let ids: Vec<_> = found.keys().map(|id| &**id).collect();
    let all = ["listeners", "notification-queue", "table-size"];
    assert_eq!(ids, all, "{found:?}");
    assert!(
        found["listeners"].0.starts_with("1 clients listen"),
        "{found:?}"
    );
    assert!(
        found["notification-queue"].0.contains("full to 0 %:"),
        "{found:?}"
    );
    assert!(found["table-size"].0.ends_with(" MiB"), "{found:?}");
    let newer = ("< 190000", "< 10000");
    let found = problems(&admin, &[("> 200", "> 0"), newer]).await;
    assert!(!found.contains_key("listeners"), "{found:?}");
    polling.end().await;
    peer.end().await;
}

#[tokio::test]
async fn a_transaction_that_keeps_old_rows_is_found_and_its_remedy_ends_it() {
    let server = shared();
    let database = server.database().await;
    Peer::new(&server.url(&database)).await.end().await;
    let admin = server.admin(&database).await;
    let soon = [("interval '10 minutes'", "interval '0'")];
    // A snapshot, and the number of a transaction that has written, keep old rows alike.
    for keeps in [
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class",
        "BEGIN; SELECT txid_current()",
    ] {
        let idle = server.admin(&database).await;
        let pid = idle.query_one("SELECT pg_backend_pid()", &[]).await;
        let pid: i32 = pid.unwrap().get(0);
        idle.batch_execute("BEGIN; SELECT 1").await.unwrap();
        let found = problems(&admin, &soon).await;
        assert!(!found.contains_key("old-snapshot"), "it keeps none");
        idle.batch_execute(&format!("ROLLBACK; {keeps}"))
            .await
            .unwrap();
        let found = problems(&admin, &soon).await;
        let (meaning, remedy) = &found["old-snapshot"];
        let process = format!("process {pid} of user test has had a transaction open for 00:00");
        assert!(meaning.starts_with(&process), "{meaning}");
        let (kill, _) = remedy.split_once(", and set idle_in_").unwrap();
        admin.batch_execute(kill).await.unwrap();
        while problems(&admin, &soon).await.contains_key("old-snapshot") {}
        assert!(idle.batch_execute("").await.is_err());
    }
}
