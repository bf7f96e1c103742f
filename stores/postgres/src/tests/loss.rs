//! What becomes of requests and locks when a connection or a server is lost.

use std::time::Duration;

use auto_mutex_seam::store::{Cause, MemberId, Mode, Op, RandomId, Reply, Ticket};

use super::peer::{Event, Peer, acquire, engine, options, release, touch};
use super::real_time::real_time;
use super::server::{Server, shared};

/// Ends the connections of all clients in this database.
async fn end_connections(server: &Server, database: &str) {
    let admin = server.admin(database).await;
    let end = "SELECT pg_terminate_backend(pid) FROM auto_mutex.members";
    admin.batch_execute(end).await.unwrap();
}

#[tokio::test]
async fn a_lost_connection_is_replaced_and_the_locks_are_kept() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (held, token) = peer.holds("n").await;
    for counter in 2..5 {
        end_connections(server, &database).await;
        let error = peer.lost().await;
        assert_eq!(error.code(), Some("57P01"), "{error}");
        assert!(peer.connected().await);
        assert!(peer.closed.is_none());
        let touched = peer.ask("n", touch(held, counter)).await.unwrap();
        assert_eq!(
            touched,
            Reply::Granted {
                token,
                signal: None
            }
        );
    }
    peer.end().await;
}

#[tokio::test]
async fn requests_in_flight_fail_and_are_not_repeated() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    peer.holds("n").await;
    let admin = server.admin(&database).await;
    let freeze = "BEGIN; SELECT FROM auto_mutex.names WHERE name = 'n' FOR UPDATE";
    admin.batch_execute(freeze).await.unwrap();
    loop {
        let ids = [(); 3].map(|()| peer.submit("n", acquire(Ticket::random(), Mode::Queue)));
        server.blocks(&database).await;
        end_connections(server, &database).await;
        let mut in_flight = 0;
        for id in ids {
            let error = peer.answer(id).await.unwrap_err();
            in_flight += usize::from(error.is_disconnected());
            // On a slow machine, a request waits longer for the row than it may.
            let was_late = error.code() == Some("55P03");
            assert!(error.is_disconnected() || was_late, "{error}");
        }
        peer.lost().await;
        if in_flight == ids.len() {
            break;
        }
        assert!(peer.connected().await);
    }
    admin.batch_execute("COMMIT").await.unwrap();
    assert!(peer.connected().await);
    let state = peer.ask("n", Op::Inspect { above: 0 }).await.unwrap();
    assert!(state.into_record().waiters.is_empty());
    peer.end().await;
}

#[tokio::test]
async fn a_request_that_had_to_wait_shortens_no_lease() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (held, _) = peer.holds("n").await;
    let admin = server.admin(&database).await;
    let mut counter = 9;
    let ends = loop {
        let freeze = "BEGIN; SELECT FROM auto_mutex.names WHERE name = 'n' FOR UPDATE";
        admin.batch_execute(freeze).await.unwrap();
        let waiting = peer.submit("n", acquire(Ticket::random(), Mode::Queue));
        server.blocks(&database).await;
        // Begins later, and comes first.
        let touch = format!(
            "SELECT auto_mutex.touch('n', '{}', '{held}', {counter}, 0, 30000, 30000, 0::smallint, 0, NULL)",
            peer.member
        );
        admin.batch_execute(&touch).await.unwrap();
        let of_name = "SELECT (sole).ends FROM auto_mutex.names";
        let ends: i64 = admin.query_one(of_name, &[]).await.unwrap().get(0);
        admin.batch_execute("COMMIT").await.unwrap();
        match peer.answer(waiting).await {
            Ok(Reply::Queued { .. }) => break ends,
            // On a slow machine, it waits longer for the row than it may.
            Err(error) if error.code() == Some("55P03") => counter += 1,
            other => panic!("{other:?}"),
        }
    };
    let of_ticket = "SELECT ends FROM auto_mutex.tickets WHERE line = 0";
    let now: i64 = admin.query_one(of_ticket, &[]).await.unwrap().get(0);
    assert_eq!(now, ends);
    peer.end().await;
}

#[tokio::test]
async fn a_restart_keeps_the_locks_and_a_crash_closes_the_store() {
    let _watch = real_time();
    let mut server = Server::start();
    let url = server.url("postgres");
    let options = auto_mutex_seam::store::StoreOptions {
        longest_lease: Duration::from_secs(10),
        ..options()
    };
    let mut peer = Peer::with(&url, MemberId::random(), options).await.unwrap();
    let (held, token) = peer.holds("n").await;
    server.down("INT");
    peer.lost().await;
    server.up();
    assert!(peer.connected().await);
    assert!(peer.closed.is_none());
    let touched = peer.ask("n", touch(held, 2)).await.unwrap();
    assert_eq!(
        touched,
        Reply::Granted {
            token,
            signal: None
        }
    );

    server.down("QUIT");
    peer.lost().await;
    server.up();
    assert!(peer.connected().await);
    let closed = peer.closed.expect("closed after a loss");
    assert_eq!(closed.cause, Cause::Restart);
    let left = closed.left(auto_mutex_seam::store::clock::now()).unwrap();
    assert!(left <= Duration::from_secs(11), "{left:?}");
    assert_eq!(peer.ask("n", touch(held, 3)).await.unwrap(), Reply::Gone);
    let refused = peer.ask("n", acquire(Ticket::random(), Mode::Try)).await;
    assert!(
        matches!(refused, Ok(Reply::Busy { holder: None })),
        "{refused:?}"
    );
    let waiting = Ticket::random();
    let queued = peer.ask("n", acquire(waiting, Mode::Queue)).await;
    let Ok(Reply::Queued { position: 1, .. }) = queued else {
        panic!("{queued:?}");
    };
    // Another client finds it closed too, and for as long.
    let other = Peer::with(&url, MemberId::random(), options).await.unwrap();
    assert!(other.closed.is_some());
    other.store.close();
    let mut counter = 2;
    let next = loop {
        match peer.ask("n", touch(waiting, counter)).await.unwrap() {
            Reply::Granted { token, .. } => break token,
            Reply::Queued { .. } => counter += 1,
            other => panic!("{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(next > token);
    peer.end().await;
}

#[tokio::test]
async fn a_crash_of_one_process_loses_the_locks_too() {
    let server = Server::start();
    let mut peer = Peer::new(&server.url("postgres")).await;
    let (held, _) = peer.holds("n").await;
    let admin = server.admin("postgres").await;
    let row = admin
        .query_one("SELECT pg_backend_pid()", &[])
        .await
        .unwrap();
    let pid: i32 = row.get(0);
    let kill = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(kill.unwrap().success());
    peer.lost().await;
    assert!(peer.connected().await);
    assert_eq!(peer.closed.unwrap().cause, Cause::Restart);
    assert_eq!(peer.ask("n", touch(held, 2)).await.unwrap(), Reply::Gone);
    peer.end().await;
}

#[tokio::test]
async fn a_standby_that_takes_over_is_closed() {
    let _watch = real_time();
    let mut primary = Server::start();
    let first = Peer::new(&primary.url("postgres")).await;
    first.end().await;
    let standby = primary.standby();
    let url = format!(
        "test@127.0.0.1:{},127.0.0.1:{}/postgres",
        standby.port, primary.port
    );
    let mut peer = Peer::new(&url).await;
    assert!(peer.closed.is_none());
    let servers = peer.store.servers();
    assert_eq!(servers[0].address, format!("127.0.0.1:{}", primary.port));
    let (held, token) = peer.holds("n").await;
    let alone = Peer::open(&standby.url("postgres")).await;
    let text = alone.err().unwrap().to_string();
    assert!(text.contains("is a standby, not a primary"), "{text}");
    primary.down("QUIT");
    peer.lost().await;
    standby.promote();
    assert!(peer.connected().await);
    assert_eq!(peer.closed.unwrap().cause, Cause::Failover);
    assert_eq!(peer.ask("n", touch(held, 2)).await.unwrap(), Reply::Gone);
    let waiting = Ticket::random();
    let queued = peer.ask("n", acquire(waiting, Mode::Queue)).await;
    assert!(matches!(queued, Ok(Reply::Queued { .. })), "{queued:?}");
    assert!(token > 0);
    // The history of the promotion outlives a crash.
    peer.end().await;
}

#[tokio::test]
async fn who_begins_without_a_server_connects_later() {
    let mut server = Server::start();
    server.down("INT");
    let mut peer = Peer::lazily(engine(&server.url("postgres")), options());
    assert!(matches!(peer.event().await, Event::Disconnected(_)));
    let gone = peer.refusal("n", release(Ticket::random()));
    assert_eq!(gone.unwrap(), Reply::Gone);
    let refused = peer.refusal("n", acquire(Ticket::random(), Mode::Try));
    assert!(refused.unwrap_err().is_disconnected());
    server.up();
    assert!(peer.connected().await);
    peer.works().await;
    peer.end().await;
}

#[tokio::test]
async fn behind_a_pooler_a_lost_epoch_is_noticed_with_the_next_request() {
    let server = shared();
    let database = server.database().await;
    let url = server.url(&database);
    let mut peer = Peer::new(&format!("{url}?poll=200ms")).await;
    peer.works().await;
    let admin = server.admin(&database).await;
    // As a crash does.
    let crash = "TRUNCATE auto_mutex.epoch, auto_mutex.names, auto_mutex.tickets";
    admin.batch_execute(crash).await.unwrap();
    let error = peer.fails("n", acquire(Ticket::random(), Mode::Queue));
    assert!(error.await.is_disconnected());
    peer.lost().await;
    assert!(peer.connected().await);
    assert_eq!(peer.closed.unwrap().cause, Cause::Restart);
    let queued = peer.ask("n", acquire(Ticket::random(), Mode::Queue)).await;
    assert!(matches!(queued, Ok(Reply::Queued { .. })), "{queued:?}");
    peer.end().await;
}

/// It stays closed for a lease, not until the clock has come to the loss again.
#[tokio::test]
async fn a_clock_that_steps_back_past_a_loss_costs_one_lease() {
    let server = shared();
    let database = server.database().await;
    Peer::new(&server.url(&database)).await.end().await;
    let admin = server.admin(&database).await;
    let opens = async |lag: i64, at: i64| {
        let begin = "SELECT opens - at FROM auto_mutex.begin_epoch(30000, $1, $2)";
        let row = admin.query_one(begin, &[&lag, &at]).await.unwrap();
        row.get::<_, i64>(0)
    };
    let (crash, hour, second) = (1_800_000_000_000_000, 3_600_000_000, 1_000_000);
    for (lose, lag, lease) in [
        ("DELETE FROM auto_mutex.epoch", 0, 30),
        (
            "DELETE FROM auto_mutex.epoch; UPDATE auto_mutex.history SET server = ''",
            12_000,
            42,
        ),
    ] {
        admin.batch_execute(lose).await.unwrap();
        assert_eq!(opens(lag, crash).await, lease * second);
        let back = crash - hour;
        assert_eq!(opens(lag, back).await, lease * second);
        assert_eq!(opens(lag, back + (lease - 1) * second).await, second);
        assert!(opens(lag, back + lease * second).await < 0, "it is open");
        // Later epochs begin in the future of this one.
        let over = "UPDATE auto_mutex.history SET promoted = 0";
        admin.batch_execute(over).await.unwrap();
    }
}

#[tokio::test]
async fn a_schema_that_somebody_drops_is_made_again() {
    let server = shared();
    for query in ["", "?poll=200ms"] {
        let database = server.database().await;
        let admin = server.admin(&database).await;
        let mut peer = Peer::new(&format!("{}{query}", server.url(&database))).await;
        let (held, _) = peer.holds("n").await;
        // In the order in which the functions lock the tables.
        let drop = "BEGIN; LOCK TABLE auto_mutex.epoch; DROP SCHEMA auto_mutex CASCADE; COMMIT";
        admin.batch_execute(drop).await.unwrap();
        let error = peer.fails("n", touch(held, 2)).await;
        assert!(error.is_disconnected(), "{query}: {error:?}");
        peer.lost().await;
        assert!(peer.connected().await);
        assert_eq!(peer.ask("n", touch(held, 3)).await.unwrap(), Reply::Gone);
        assert!(peer.closed.is_some(), "others may hold locks still");
        peer.end().await;
    }
}

/// A holder learns at once that its database is gone, and who makes it again waits for the leases of others.
#[tokio::test]
async fn a_database_that_is_made_again_has_lost_its_locks() {
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (held, _) = peer.holds("n").await;
    let admin = server.admin("postgres").await;
    let drop = format!("DROP DATABASE {database} WITH (FORCE)");
    admin.batch_execute(&drop).await.unwrap();
    peer.lost().await;
    let forgotten = peer.event().await;
    assert!(matches!(forgotten, Event::Forgotten), "{forgotten:?}");
    let create = format!("CREATE DATABASE {database}");
    admin.batch_execute(&create).await.unwrap();
    while matches!(peer.event().await, Event::Forgotten) {}
    assert_eq!(peer.ask("n", touch(held, 2)).await.unwrap(), Reply::Gone);
    assert!(peer.closed.is_some(), "others may hold locks still");
    peer.end().await;
}

#[tokio::test]
async fn a_missing_column_does_not_make_clients_reconnect_without_a_pause() {
    let _watch = real_time();
    let server = shared();
    let database = server.database().await;
    let mut peer = Peer::new(&server.url(&database)).await;
    let (held, _) = peer.holds("n").await;
    let admin = server.admin(&database).await;
    let rename = async |from, to| {
        let rename = format!("ALTER TABLE auto_mutex.names RENAME COLUMN {from} TO {to}");
        admin.batch_execute(&rename).await.unwrap();
    };
    rename("clk", "missing").await;
    let begun = std::time::Instant::now();
    for counter in 2..7 {
        let error = peer.ask("n", touch(held, counter)).await.unwrap_err();
        assert_eq!(error.code(), Some("42703"), "{error:?}");
        peer.lost().await;
        assert!(peer.connected().await);
    }
    // The first connection was older.
    let least = 4 * Duration::from_millis(200);
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    rename("missing", "clk").await;
    peer.works().await;
    peer.end().await;
}
