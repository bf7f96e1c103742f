//! What an operator sees.

use std::collections::BTreeMap;

use auto_mutex_seam::store::{Mode, Name, RandomId, Ticket};
use auto_mutex_seam::{AfterFailover, AfterRestart, Eviction};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::peer::{Peer, acquire, engine, options, release};
use super::real_time::real_time;
use super::server::{Server, shared};
use crate::schema::script;

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

/// A transaction is old at once.
const NOW_OLD: (&str, &str) = (
    "xact_start < now() - interval '10 minutes'",
    "xact_start < now()",
);

/// The meanings and remedies of what is wrong, with some text of the query replaced: most limits are out of a test's
/// reach.
async fn problems(admin: &Client, changes: &[(&str, &str)]) -> BTreeMap<String, (String, String)> {
    let mut query = script::problems();
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
        NOW_OLD,
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
    let soon = [NOW_OLD];
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

fn ids(found: &BTreeMap<String, (String, String)>) -> Vec<&str> {
    found.keys().map(|id| &**id).collect()
}

/// What keeps old versions of rows beside the transactions of sessions, on servers that have it.
#[tokio::test]
async fn what_else_keeps_old_rows_is_found_and_its_remedy_ends_it() {
    let _watch = real_time();
    let mut server = Server::start();
    let rules = "local all all trust\nlocal replication all trust\nhost all all all trust\n";
    server.change(rules, "max_prepared_transactions = 2\n");
    let mut standby = server.standby();
    let settings = format!(
        "max_prepared_transactions = 2\nhot_standby_feedback = on\nwal_receiver_status_interval = 1s\n\
         primary_conninfo = 'host={} port={} user=test application_name=late'\n",
        server.dir.path().display(),
        server.port
    );
    standby.change(rules, &settings);
    let admin = server.admin("postgres").await;
    Peer::new(&server.url("postgres")).await.end().await;
    let limits = [
        (
            "prepared < now() - interval '10 minutes'",
            "prepared <= now()",
        ),
        ("age(xmin) > 100000", "age(xmin) > 0"),
        ("age(backend_xmin) > 100000", "age(backend_xmin) > 0"),
    ];
    assert_eq!(problems(&admin, &[]).await, BTreeMap::new());
    let late = standby.admin("postgres").await;
    let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class";
    late.batch_execute(snapshot).await.unwrap();
    for fault in [
        "BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'pay''7'",
        "SELECT pg_create_physical_replication_slot('gone', true)",
    ] {
        admin.batch_execute(fault).await.unwrap();
    }
    let mut found = problems(&admin, &limits).await;
    while !found.contains_key("standby-feedback") {
        admin.batch_execute("SELECT txid_current()").await.unwrap();
        found = problems(&admin, &limits).await;
    }
    let all = [
        "prepared-transaction",
        "replication-slot",
        "standby-feedback",
    ];
    assert_eq!(ids(&found), all, "{found:?}");
    for (id, start) in all.into_iter().zip([
        "transaction 'pay''7' of user test has been prepared for 00:00",
        "its replication slot 'gone', which nobody uses, keeps log files",
        "its standby late keeps old versions of rows",
    ]) {
        assert!(found[id].0.starts_with(start), "{found:?}");
    }
    for id in &all[..2] {
        let (_, remedy) = found[*id].1.split_once(", or ").unwrap();
        admin.batch_execute(remedy).await.unwrap();
    }
    late.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(problems(&admin, &limits[..1]).await, BTreeMap::new());
}

#[tokio::test]
async fn a_damaged_schema_is_found_and_its_remedy_repairs_it() {
    let server = shared();
    let database = server.database().await;
    let admin = server.admin(&database).await;
    assert_eq!(ids(&problems(&admin, &[]).await), ["schema"]);
    Peer::new(&server.url(&database)).await.end().await;
    let (app, looks) = (format!("app_{database}"), format!("looks_{database}"));
    let rights = crate::grants(&app) + &crate::reading_grants(&looks);
    let roles = format!("CREATE ROLE {app}; CREATE ROLE {looks}; {rights}");
    admin.batch_execute(&roles).await.unwrap();
    assert_eq!(problems(&admin, &[]).await, BTreeMap::new());
    let revoke = "REVOKE EXECUTE ON FUNCTION auto_mutex.";
    for (fault, id, said) in [
        (
            format!("{revoke}acquire FROM {app}"),
            "rights",
            "lacks EXECUTE ON FUNCTION auto_mutex.acquire:",
        ),
        (
            format!("{revoke}inspect, auto_mutex.scan FROM {looks}"),
            "rights",
            "auto_mutex.inspect, auto_mutex.scan",
        ),
        (
            format!("REVOKE USAGE ON SCHEMA auto_mutex FROM {app}"),
            "rights",
            "lacks USAGE ON SCHEMA auto_mutex:",
        ),
        (
            format!("{revoke}open FROM auto_mutex_owner"),
            "rights",
            "its role auto_mutex_owner lacks EXECUTE",
        ),
        (
            format!("ALTER TABLE auto_mutex.mail OWNER TO {app}"),
            "schema",
            "auto_mutex.mail belongs to another role",
        ),
        (
            "ALTER TABLE auto_mutex.names FORCE ROW LEVEL SECURITY".to_owned(),
            "schema",
            "row-level security",
        ),
        (
            "ALTER TABLE auto_mutex.gone SET LOGGED".to_owned(),
            "logged-tables",
            "auto_mutex.gone",
        ),
    ] {
        admin.batch_execute(&fault).await.unwrap();
        let found = problems(&admin, &[]).await;
        assert_eq!(ids(&found), [id], "{fault}: {found:?}");
        let (meaning, remedy) = &found[id];
        assert!(meaning.contains(said), "{meaning}");
        admin.batch_execute(remedy).await.unwrap();
        assert_eq!(problems(&admin, &[]).await, BTreeMap::new(), "{remedy}");
    }
    for missing in ["TABLE auto_mutex.fences", "FUNCTION auto_mutex.clock"] {
        let drop = format!("DROP {missing}");
        admin.batch_execute(&drop).await.unwrap();
        let found = problems(&admin, &[]).await;
        let (_, name) = missing.split_once(' ').unwrap();
        let said = format!("these are missing: {name}");
        assert!(found["schema"].0.ends_with(&said), "{found:?}");
        admin.batch_execute(&crate::schema()).await.unwrap();
        assert_eq!(problems(&admin, &[]).await, BTreeMap::new());
    }
}

#[tokio::test]
async fn what_a_user_may_not_see_is_not_checked() {
    // Its administrator may have sessions in all databases.
    let server = Server::start();
    Peer::new(&server.url("postgres")).await.end().await;
    let admin = server.admin("postgres").await;
    let create = format!(
        "CREATE ROLE blind LOGIN; {}",
        crate::reading_grants("blind")
    );
    admin.batch_execute(&create).await.unwrap();
    let blind = server.client("blind", "postgres").await;
    let found = problems(&blind, &[]).await;
    let (meaning, remedy) = &found["unknown"];
    let start = "not checked: the transactions of 1 sessions and the state of 0 standbys";
    assert!(meaning.starts_with(start), "{found:?}");
    admin.batch_execute(remedy).await.unwrap();
    assert_eq!(problems(&blind, &[]).await, BTreeMap::new());
    // A session that doesn't say when its transaction began.
    let silent = "SET track_activities = off; BEGIN; SELECT txid_current()";
    admin
        .batch_execute("SET track_activities = off")
        .await
        .unwrap();
    admin.batch_execute(silent).await.unwrap();
    let found = problems(&blind, &[]).await;
    assert_eq!(found["unknown"].1, "set track_activities = on", "{found:?}");
}

#[tokio::test]
async fn lost_locks_are_found_before_a_client_comes() {
    let mut server = Server::start();
    let url = server.url("postgres");
    Peer::new(&url).await.end().await;
    let problems = async || {
        let mut reader = engine(&url).reader(&options());
        let described = reader.describe().await.remove(0).unwrap();
        let ids = described.problems.into_iter().map(|[id, ..]| id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(problems().await, [""; 0]);
    server.down("QUIT");
    server.up();
    assert_eq!(problems().await, ["locks-lost"]);
    Peer::new(&url).await.end().await;
    assert_eq!(problems().await, [""; 0]);
}
