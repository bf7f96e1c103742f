//! The schema: who makes it, and who may use it.

use std::time::Duration;

use auto_mutex_seam::store::{Cause, Mode, RandomId, Reply, Ticket, with_sources};
use auto_mutex_seam::{AfterFailover, SetupError};

use super::peer::{Peer, acquire, touch};
use super::server::{Server, shared};
use crate::schema::script::script;
use crate::schema::{VERSION, Version};

#[tokio::test]
async fn of_many_clients_one_makes_the_schema() {
    let server = shared();
    let url = server.url(&server.database().await);
    let opening: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { Peer::open(&url).await.unwrap() })
        })
        .collect();
    for peer in opening {
        let mut peer = peer.await.unwrap();
        peer.works().await;
        peer.end().await;
    }
}

#[tokio::test]
async fn a_user_with_few_rights_needs_the_schema_and_the_grants() {
    let server = shared();
    let database = server.database().await;
    let admin = server.admin(&database).await;
    let role = format!("role_{database}");
    let create = format!("CREATE ROLE {role} LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC");
    admin.batch_execute(&create).await.unwrap();
    let url = format!("{role}@127.0.0.1:{}/{database}", server.port);
    let error = Peer::open(&url).await.err().unwrap();
    assert!(matches!(error, SetupError::Unsuitable { .. }), "{error:?}");
    assert!(error.to_string().contains("auto-mutex schema --postgres"));
    assert!(!with_sources(&error).contains(&role), "{error:?}");

    admin.batch_execute(&crate::schema()).await.unwrap();
    let error = Peer::open(&url).await.err().unwrap();
    assert!(matches!(error, SetupError::Permission { .. }), "{error:?}");
    let text = with_sources(&error);
    assert!(
        text.contains("schema --postgres --only-rights --grant"),
        "{text}"
    );

    admin.batch_execute(&crate::grants(&role)).await.unwrap();
    let mut peer = Peer::open(&url).await.unwrap();
    peer.works().await;
    let alter = "ALTER TABLE auto_mutex.names ADD COLUMN more text";
    let user = server.client(&role, &database).await;
    assert!(user.batch_execute(alter).await.is_err());
    peer.end().await;
}

#[tokio::test]
async fn newer_functions_serve_older_clients_too() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let mut old = Peer::new(&url).await;
    let (held, token) = old.holds("n").await;
    let admin = server.admin(&database).await;
    let Version(tables, rules) = VERSION;
    // A client of the next version.
    let update = format!("BEGIN; {} COMMIT", script(Version(tables, rules + 1)));
    admin.batch_execute(&update).await.unwrap();
    let kept = old.ask("n", touch(held, 2)).await.unwrap();
    assert!(matches!(kept, Reply::Granted { token: same, .. } if same == token));
    // One more of this version does not go back.
    let mut late = Peer::new(&url).await;
    assert!(late.closed.is_none());
    late.works().await;
    late.end().await;
    let comment = "SELECT obj_description('auto_mutex'::regnamespace)";
    let row = admin.query_one(comment, &[]).await.unwrap();
    let version = format!("auto-mutex schema {tables}.{}", rules + 1);
    assert_eq!(row.get::<_, &str>(0), version);
    let back = admin.batch_execute(&crate::schema()).await.unwrap_err();
    assert!(back.as_db_error().unwrap().message().contains("newer"));
    admin.batch_execute("ROLLBACK").await.unwrap();
    old.end().await;
}

#[tokio::test]
async fn newer_tables_tell_older_clients_to_update() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let mut old = Peer::new(&url).await;
    let (held, _) = old.holds("n").await;
    let admin = server.admin(&database).await;
    let update = format!("BEGIN; {} COMMIT", script(Version(VERSION.0 + 1, 0)));
    admin.batch_execute(&update).await.unwrap();
    // The leases of the older clients count until they end, also those that a former primary may have granted.
    let opens = "SELECT opens > at + 3600000000 FROM auto_mutex.begin_epoch(1000, 3600000, NULL)";
    assert!(admin.query_one(opens, &[]).await.unwrap().get::<_, bool>(0));
    let kept = old.ask("n", touch(held, 2)).await;
    assert!(!matches!(kept, Ok(Reply::Granted { .. })), "{kept:?}");
    let error = Peer::open(&url).await.err().unwrap();
    assert!(matches!(error, SetupError::Unsuitable { .. }), "{error:?}");
    assert!(error.to_string().contains("update the crate auto-mutex"));
    old.store.close();
}

/// What an administrator may do to the tables with a good intention, and what undoes it.
#[tokio::test]
async fn altered_tables_are_refused_by_name_and_close_the_store_afterwards() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    Peer::new(&url).await.end().await;
    let admin = server.admin(&database).await;
    let other = format!("other_{database}");
    admin
        .batch_execute(&format!("CREATE ROLE {other}"))
        .await
        .unwrap();
    for (change, cure) in [
        ("epoch SET LOGGED".to_owned(), "epoch SET UNLOGGED"),
        ("gone SET LOGGED".to_owned(), "gone SET UNLOGGED"),
        (
            "names FORCE ROW LEVEL SECURITY".to_owned(),
            "names NO FORCE ROW LEVEL SECURITY",
        ),
        (
            format!("mail OWNER TO {other}"),
            "mail OWNER TO auto_mutex_owner",
        ),
    ] {
        let change = format!("ALTER TABLE auto_mutex.{change}");
        admin.batch_execute(&change).await.unwrap();
        let error = Peer::open(&url).await.err().unwrap().to_string();
        let cure = format!("ALTER TABLE auto_mutex.{cure}");
        assert!(error.contains(&cure), "{error}");
        admin.batch_execute(&cure).await.unwrap();
        // There may have been a crash that left a part of the tables.
        let peer = Peer::new(&url).await;
        assert!(peer.closed.is_some(), "{change}");
        peer.end().await;
    }
    // Security for rows that does not concern the owner is no fault.
    let enable = "ALTER TABLE auto_mutex.names ENABLE ROW LEVEL SECURITY";
    admin.batch_execute(enable).await.unwrap();
    Peer::new(&url).await.end().await;
    // Some services drop unlogged tables when they promote a standby.
    for table in ["epoch", "signals", "members"] {
        let drop = format!("DROP TABLE auto_mutex.{table}");
        admin.batch_execute(&drop).await.unwrap();
        let peer = Peer::new(&url).await;
        assert!(peer.closed.is_some(), "{table}");
        peer.end().await;
    }
}

/// After a crash that left some tables, because somebody had changed them.
#[tokio::test]
async fn what_is_left_of_a_lost_lock_keeps_nobody_from_it() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let mut peer = Peer::new(&url).await;
    for _ in 0..2 {
        let waiting = Ticket::random();
        peer.holds("n").await;
        peer.ask("n", acquire(waiting, Mode::Queue)).await.unwrap();
        let admin = server.admin(&database).await;
        let crash = "TRUNCATE auto_mutex.tickets, auto_mutex.epoch";
        admin.batch_execute(crash).await.unwrap();
        peer.end().await;
        peer = Peer::new(&url).await;
        let over =
            "UPDATE auto_mutex.epoch SET began = 0; UPDATE auto_mutex.history SET promoted = 0";
        admin.batch_execute(over).await.unwrap();
        peer.end().await;
        peer = Peer::new(&url).await;
    }
    peer.holds("n").await;
    peer.end().await;
}

/// What a role may see of the server is no part of the server's identity.
#[tokio::test]
async fn roles_of_unequal_rights_share_an_epoch() {
    let server = Server::start();
    let admin = server.admin("postgres").await;
    let url = server.url("postgres");
    let mut one = Peer::new(&url).await;
    let role = "CREATE ROLE app LOGIN; REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC";
    admin.batch_execute(role).await.unwrap();
    admin.batch_execute(&crate::grants("app")).await.unwrap();
    let mut other = Peer::new(&url.replace("test@", "app@")).await;
    for peer in [&mut one, &mut other] {
        assert!(peer.closed.is_none());
        peer.works().await;
    }
    let epoch = "SELECT id::text FROM auto_mutex.epoch";
    let before: String = admin.query_one(epoch, &[]).await.unwrap().get(0);
    let granted = "GRANT EXECUTE ON FUNCTION pg_control_system TO PUBLIC";
    admin.batch_execute(granted).await.unwrap();
    let last = Peer::new(&url).await;
    assert!(last.closed.is_none());
    let after: String = admin.query_one(epoch, &[]).await.unwrap().get(0);
    assert_eq!(before, after);
    for peer in [one, other, last] {
        peer.end().await;
    }
}

#[tokio::test]
async fn a_copy_of_the_database_begins_an_epoch() {
    let server = shared();
    let database = server.database().await;
    Peer::new(&server.url(&database)).await.end().await;
    let admin = server.admin("postgres").await;
    // Once the connections of the client have ended.
    let copy = format!("CREATE DATABASE {database}_copy TEMPLATE {database}");
    while admin.batch_execute(&copy).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let restored = server.admin(&format!("{database}_copy")).await;
    // Unlike a copy of the files, a restored dump has new tables.
    let again = "CREATE UNLOGGED TABLE auto_mutex.other (LIKE auto_mutex.epoch INCLUDING ALL); \
                 INSERT INTO auto_mutex.other SELECT * FROM auto_mutex.epoch; DROP TABLE auto_mutex.epoch CASCADE; \
                 ALTER TABLE auto_mutex.other RENAME TO epoch; ALTER TABLE auto_mutex.epoch OWNER TO auto_mutex_owner";
    restored.batch_execute(again).await.unwrap();
    let peer = Peer::new(&server.url(&format!("{database}_copy"))).await;
    assert!(peer.closed.is_some(), "its locks may be old");
    peer.store.close();
}

#[tokio::test]
async fn on_aurora_the_start_of_the_process_begins_an_epoch() {
    let mut server = Server::start();
    let url = server.url("postgres");
    let admin = server.admin("postgres").await;
    let imitate = "SET allow_system_table_mods = on; \
        CREATE FUNCTION pg_catalog.aurora_version() RETURNS text LANGUAGE sql AS $$ SELECT '16.4' $$";
    admin.batch_execute(imitate).await.unwrap();
    let mut peer = Peer::new(&url).await;
    let failover = peer.store.guarantees().failover;
    assert!(
        matches!(failover, AfterFailover::Closed { .. }),
        "{failover:?}"
    );
    peer.works().await;
    // There, the tables outlive a failover.
    server.down("INT");
    peer.lost().await;
    server.up();
    assert!(peer.connected().await);
    assert_eq!(peer.closed.unwrap().cause, Cause::Failover);
    peer.end().await;
}

#[tokio::test]
async fn an_older_schema_is_replaced_by_its_owner_and_a_newer_or_foreign_one_is_not() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    Peer::new(&url).await.end().await;
    let admin = server.admin(&database).await;
    let comment = |text: &str| format!("COMMENT ON SCHEMA auto_mutex IS '{text}'");
    for (text, part) in [
        ("auto-mutex schema 9999.0", "update the crate auto-mutex"),
        ("something else", "is not of this library"),
    ] {
        admin.batch_execute(&comment(text)).await.unwrap();
        let error = Peer::open(&url).await.err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
    // That of an older version is its owner's to replace.
    for history in ["", "ALTER TABLE auto_mutex.history RENAME TO note;"] {
        let old = history.to_owned() + &comment("auto-mutex schema 0.7");
        admin.batch_execute(&old).await.unwrap();
        let error = Peer::open(&url).await.err().unwrap().to_string();
        assert!(error.contains("let its owner run"), "{error}");
        admin.batch_execute(&crate::schema()).await.unwrap();
        let peer = Peer::new(&url).await;
        assert!(peer.closed.is_some(), "its locks are lost");
        peer.end().await;
    }
}
