//! A neighbour: a login without a right on any lock, which makes whatever it may. Nothing of it ever runs as anybody
//! else, and it neither hears nor keeps away anybody.

use auto_mutex_seam::store::{Message, Mode, RandomId, Reply, Ticket};
use tokio_postgres::Client;

use super::peer::{Peer, acquire, release, touch};
use super::server::{Server, shared};
use crate::schema::VERSION;
use crate::schema::script::script;

/// A database whose neighbour may make things in `public`, as all may on PostgreSQL 14 and in databases that come from
/// there.
async fn neighbour(server: &Server) -> (String, Client, Client) {
    let database = server.database().await;
    let admin = server.admin(&database).await;
    let evil = format!("evil_{database}");
    let create = format!("CREATE ROLE {evil} LOGIN; GRANT CREATE ON SCHEMA public TO PUBLIC");
    admin.batch_execute(&create).await.unwrap();
    let client = server.client(&evil, &database).await;
    (database, admin, client)
}

/// A role that uses the locks, and may do nothing else.
async fn application(server: &Server, database: &str, admin: &Client, path: &str) -> String {
    let role = format!("app_{database}");
    let create = format!("CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET search_path = {path}");
    admin.batch_execute(&create).await.unwrap();
    admin.batch_execute(&crate::grants(&role)).await.unwrap();
    format!("{role}@127.0.0.1:{}/{database}", server.port)
}

async fn caught(admin: &Client) -> Vec<(String, String)> {
    let rows = admin.query("SELECT who, what FROM public.caught", &[]);
    let rows = rows.await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// All that a client does.
async fn everything(one: &mut Peer, other: &mut Peer) {
    let (held, _) = one.holds("n").await;
    let waiting = Ticket::random();
    let queued = other.ask("n", acquire(waiting, Mode::Queue)).await.unwrap();
    assert!(matches!(queued, Reply::Queued { .. }), "{queued:?}");
    one.ask("n", release(held)).await.unwrap();
    assert!(matches!(other.message().await, Message::Grant { .. }));
    other.ask("n", release(waiting)).await.unwrap();
    one.works().await;
}

#[tokio::test]
async fn what_a_neighbour_has_made_is_never_run() {
    let server = shared();
    let (database, admin, evil) = neighbour(server).await;
    let traps = include_str!("traps.sql").replace("@SCRIPT@", &script(VERSION));
    evil.batch_execute(&traps).await.unwrap();
    // The worst path: what others have made comes first.
    let worst = format!("ALTER DATABASE {database} SET search_path = public, pg_catalog");
    admin.batch_execute(&worst).await.unwrap();
    Peer::new(&server.url(&database)).await.end().await;
    let admin = server.admin("postgres").await;
    let usual = format!("ALTER DATABASE {database} RESET search_path");
    admin.batch_execute(&usual).await.unwrap();
    let admin = server.admin(&database).await;
    let url = application(server, &database, &admin, "public, pg_catalog").await;
    for more in ["", "?poll=50ms"] {
        let url = format!("{url}{more}");
        let (mut one, mut other) = (Peer::new(&url).await, Peer::new(&url).await);
        everything(&mut one, &mut other).await;
        one.end().await;
        other.end().await;
    }
    // On a server that is told to be Aurora, a new epoch would begin.
    let epoch = "SELECT pg_catalog.concat(cause, began) FROM auto_mutex.epoch";
    let epoch: String = admin.query_one(epoch, &[]).await.unwrap().get(0);
    assert_eq!(epoch, "restart0");
    assert_eq!(caught(&admin).await, []);
}

#[tokio::test]
async fn a_neighbour_sees_no_channel_and_has_no_right() {
    let server = shared();
    let (database, admin, evil) = neighbour(server).await;
    Peer::new(&server.url(&database)).await.end().await;
    let url = application(server, &database, &admin, "public").await;
    let (mut one, mut other) = (Peer::new(&url).await, Peer::new(&url).await);
    everything(&mut one, &mut other).await;
    // Even one who may read what all others do finds no channel, and no member.
    let sees = "GRANT pg_read_all_stats TO ";
    let (sees, name) = (format!("{sees}evil_{database}"), one.member.to_string());
    admin.batch_execute(&sees).await.unwrap();
    let seen = "SELECT string_agg(a::text, ' ') FROM pg_stat_activity AS a WHERE datname = current_database()";
    let seen: String = evil.query_one(seen, &[]).await.unwrap().get(0);
    let channels = "SELECT replace(channel::text, '-', '') FROM auto_mutex.members";
    let channels = admin.query(channels, &[]).await.unwrap();
    assert!(channels.len() >= 2);
    for hidden in channels
        .iter()
        .map(|row| row.get::<_, &str>(0))
        .chain([&*name])
    {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
    // What it guesses of a former protocol reaches nobody.
    let forged = format!("NOTIFY \"auto_mutex:{name}\", 'lost'; NOTIFY \"{name}\", 'lost'");
    evil.batch_execute(&forged).await.unwrap();
    everything(&mut one, &mut other).await;
    for forbidden in [
        "SELECT FROM auto_mutex.names",
        "SELECT auto_mutex.acquire('n', NULL, NULL, 1, 1, 1, false, 1, 1, 0::int2, true, '', 0, NULL)",
        "SELECT auto_mutex.publish(NULL, 'x')",
        "CREATE TABLE auto_mutex.mine (x int)",
    ] {
        assert!(evil.batch_execute(forbidden).await.is_err(), "{forbidden}");
    }
    // A program has its functions, and no more.
    let role = format!("app_{database}");
    let app = server.client(&role, &database).await;
    for forbidden in [
        "SELECT FROM auto_mutex.names",
        "DELETE FROM auto_mutex.tickets",
        "SELECT auto_mutex.publish(NULL, 'x')",
        "SELECT auto_mutex.compact()",
    ] {
        assert!(app.batch_execute(forbidden).await.is_err(), "{forbidden}");
    }
    one.end().await;
    other.end().await;
}

/// Whatever others may call has the rights of the owner and its own path, and PUBLIC may call nothing.
#[tokio::test]
async fn each_function_that_is_granted_has_its_own_path() {
    let server = shared();
    let (database, admin, _) = neighbour(server).await;
    Peer::new(&server.url(&database)).await.end().await;
    application(server, &database, &admin, "public").await;
    let granted = "SELECT proname::text, grantee = 0, prosecdef AND 'search_path=pg_catalog, pg_temp' = ANY (proconfig) FROM pg_proc, \
        aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE pronamespace = 'auto_mutex'::regnamespace AND grantee <> proowner";
    let granted = admin.query(granted, &[]).await.unwrap();
    assert!(granted.len() > 15, "{}", granted.len());
    for row in granted {
        let (name, is_public, is_safe): (&str, bool, Option<bool>) =
            (row.get(0), row.get(1), row.get(2));
        assert_eq!((is_public, is_safe), (false, Some(true)), "{name}");
    }
}

/// Every number that a stranger can see or guess is locked by him.
#[tokio::test]
async fn a_neighbour_locks_nobody_out() {
    let server = shared();
    let (database, admin, evil) = neighbour(server).await;
    let guesses = "SELECT pg_advisory_lock(7272, 38), pg_advisory_lock(7272, 1)";
    evil.batch_execute(guesses).await.unwrap();
    let url = server.url(&database);
    let mut one = Peer::new(&url).await;
    let (held, _) = one.holds("n").await;
    let presence = "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks \
        WHERE locktype = 'advisory' AND objsubid = 1 AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database \
        WHERE datname = current_database())";
    let presence: i64 = evil.query_one(presence, &[]).await.unwrap().get(0);
    // He is next once the connection has ended.
    let wait = format!("SELECT pg_advisory_lock({presence})");
    let waiting = tokio::spawn(async move {
        evil.batch_execute(&wait).await.unwrap();
        evil
    });
    let ending = "SELECT pg_terminate_backend(pid) FROM auto_mutex.members";
    admin.batch_execute(ending).await.unwrap();
    one.lost().await;
    assert!(one.connected().await);
    let _evil = waiting.await.unwrap();
    let kept = one.ask("n", touch(held, 2)).await.unwrap();
    assert!(matches!(kept, Reply::Granted { .. }), "{kept:?}");
    one.works().await;
    one.end().await;
}

/// An index by the rules of a language may not find its rows after an update of these rules.
#[tokio::test]
async fn keys_are_compared_byte_by_byte() {
    let server = shared();
    let database = server.database().await;
    Peer::new(&server.url(&database)).await.end().await;
    let admin = server.admin(&database).await;
    let keys = "SELECT i.indexrelid::regclass::text, c.collname FROM pg_index AS i JOIN pg_attribute AS a ON attrelid = indexrelid \
        JOIN pg_class AS t ON t.oid = i.indrelid LEFT JOIN pg_collation AS c ON c.oid = attcollation \
        WHERE t.relnamespace = 'auto_mutex'::regnamespace AND atttypid = 'text'::regtype";
    let keys = admin.query(keys, &[]).await.unwrap();
    assert!(keys.len() >= 6, "{}", keys.len());
    for key in keys {
        let (index, collation): (&str, &str) = (key.get(0), key.get(1));
        assert_eq!(collation, "C", "{index}");
    }
}
