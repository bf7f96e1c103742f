//! The same on PostgreSQL: set-up that fails, what a server guarantees, and clients that are cut off, killed or suspended.

use std::cell::Cell;
use std::future::pending;
use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{
    AfterFailover, AfterRestart, Client, Config, Eviction, LockError, SetupError, Term, Weakness,
};
use auto_mutex_tests::chain;
use auto_mutex_tests::databases::{self, missing_postgres};
use auto_mutex_tests::events::{LONG, becomes, eventually, soon, waiters};
use auto_mutex_tests::postgres::{Postgres, url_at};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::Setup;

use crate::rig;

/// On a slow machine, the first client of a database takes its time to make the schema.
fn config(url: &str) -> Config {
    rig::config(url).connect_timeout("60s")
}

/// Without PostgreSQL, says so.
fn is_skipped() -> bool {
    missing_postgres().is_some_and(|missing| {
        println!("SKIPPED: {missing}");
        true
    })
}

const SILENT: &str = "the server does not answer: does PostgreSQL run at this port?";

type IsKind = fn(&SetupError) -> bool;

/// Each case has the kind of the error, a part of its text, and what it says to do.
#[test]
fn each_failed_set_up_says_what_to_do() {
    if is_skipped() {
        return;
    }
    let server = Postgres::start().unwrap();
    let rules = ["all few", "all app", "fresh bare", "all looks"].map(|who| {
        let how = if who == "all app" {
            "scram-sha-256"
        } else {
            "trust"
        };
        format!("('host {who} all {how}')")
    });
    let rules = rules.join(", ");
    server.ask(
        "CREATE ROLE app LOGIN PASSWORD 'right'; CREATE ROLE bare LOGIN; CREATE ROLE few LOGIN CONNECTION LIMIT 0; \
         CREATE ROLE looks LOGIN; ALTER ROLE looks SET default_transaction_read_only = on",
    );
    server.ask("CREATE DATABASE fresh");
    let loaded = || server.ask("SELECT pg_conf_load_time()");
    let before = loaded();
    server.ask(&format!(
        "DO $$ BEGIN EXECUTE format('COPY (VALUES {}, (''local all all trust''), (''host all test all trust''), \
         (''host replication all all trust'')) TO %L', current_setting('hba_file')); PERFORM pg_reload_conf(); END $$",
        rules.replace('\'', "''")
    ));
    eventually("the server has read its rules", || loaded() != before);
    let standby = server.standby();
    let redis = Redis::start();
    let nobody = Redis::start().port();
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = web.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in web.incoming() {
            let _ = stream
                .unwrap()
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    // The schema is in one of the two databases.
    drop(Client::connect(config(&server.url())).unwrap());
    let url =
        |user: &str, port: u16, rest: &str| format!("postgres://{user}@127.0.0.1:{port}/{rest}");
    let (port, plain) = (server.port(), "postgres?sslmode=disable");
    let unsuitable: IsKind = |it| matches!(it, SetupError::Unsuitable { .. });
    let unreachable: IsKind = |it| matches!(it, SetupError::Unreachable { .. });
    let authentication: IsKind = |it| matches!(it, SetupError::Authentication { .. });
    let cases: [(String, IsKind, &str, &str); 11] = [
        (url("test", nobody, plain), unreachable, "refused", ""),
        (
            url("test", other, plain),
            unsuitable,
            "does not speak the protocol of PostgreSQL",
            "correct the host or the port",
        ),
        (
            url("test", port, "nowhere?sslmode=disable"),
            unsuitable,
            "no such database",
            "create it (`createdb`)",
        ),
        (
            url("app:hunter2", port, plain),
            authentication,
            "password authentication failed for user \"app\"",
            "",
        ),
        (url("app", port, plain), authentication, "password", ""),
        (
            url("nobody", port, plain),
            unsuitable,
            "no pg_hba.conf entry for host \"…\", user \"nobody\"",
            "use `sslmode=require`, or add one",
        ),
        (
            url("test", port, "postgres?sslmode=require"),
            |it| matches!(it, SetupError::Tls { .. }),
            "TLS",
            "",
        ),
        (
            url("test", standby.port(), plain),
            |it| matches!(it, SetupError::NotPrimary { .. }),
            "is a standby, not a primary",
            "",
        ),
        (
            url("bare", port, "fresh?sslmode=disable"),
            unsuitable,
            "is missing or old",
            "let an administrator run what `auto-mutex schema --postgres` prints",
        ),
        (
            url("app:right", port, plain),
            |it| matches!(it, SetupError::Permission { .. }),
            "permission denied for schema",
            "`auto-mutex schema --postgres --only-rights --grant ROLE` prints",
        ),
        (
            url("looks", port, plain),
            unsuitable,
            "read-only",
            "`ALTER ROLE … SET default_transaction_read_only = off`",
        ),
    ];
    for (url, is_kind, text, cure) in cases {
        let error = Client::connect(config(&url).connect_timeout("20s")).unwrap_err();
        let said = chain(&error);
        println!("{said}");
        assert!(is_kind(&error), "{url}: {error:?}");
        for part in [text, cure, "127.0.0.1:"] {
            assert!(said.contains(part), "{url}: {said}");
        }
        assert!(!format!("{said} {error:?}").contains("hunter2"), "{said}");
    }
    // These may pass.
    let fails = |url: &str| Client::connect(config(url).connect_timeout("1s")).unwrap_err();
    let busy = fails(&url("few", port, plain));
    let mute = fails(&url("test", redis.port(), plain));
    server.suspend(true);
    let silent = fails(&server.url());
    server.suspend(false);
    for (error, text) in [
        (busy, "too many connections for role"),
        (mute, SILENT),
        (silent, SILENT),
    ] {
        let said = chain(&error);
        println!("{said}");
        assert!(unreachable(&error) && error.is_transient(), "{error:?}");
        // On a busy machine, any of them may seem silent; and two limits pass at about the same time.
        let silent = ["not connected within 1s: the server is silent", SILENT];
        assert!(
            [text, silent[0], silent[1]]
                .iter()
                .any(|it| said.contains(it)),
            "{said}"
        );
    }
    let with_standby = Client::connect(config(&server.url())).unwrap().guarantees();
    assert!(
        matches!(
            with_standby.failover,
            AfterFailover::OldPrimaryGoesOn { .. }
        ),
        "{with_standby}"
    );
}

/// The warnings during `work`.
fn warnings<T>(work: impl FnOnce() -> T) -> (T, String) {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || writer.clone())
        .finish();
    let value = tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    (value, text)
}

/// A server in production flushes. One for tests does not, and a client says so once.
#[test]
fn a_restart_is_safe_if_the_server_flushes() {
    if is_skipped() {
        return;
    }
    let server = databases::postgres(&["shared_buffers=16MB"]).unwrap();
    let connect = || {
        let config = config(&server.url("postgres")).longest_lease("20s");
        warnings(|| Client::connect(config).unwrap())
    };
    let (client, said) = connect();
    let found = client.guarantees();
    let time = Duration::from_secs(20);
    assert_eq!(found.restart, AfterRestart::Closed { time });
    assert_eq!(found.failover, AfterFailover::NoReplicas);
    assert_eq!(found.eviction, Eviction::Never);
    assert!(found.fifo && found.fencing_tokens);
    assert_eq!((found.weaknesses(), &*said), (vec![], ""));

    assert!(server.runs("ALTER SYSTEM SET fsync = off") && server.runs("SELECT pg_reload_conf()"));
    // Whoever is first says it: this thread, or that of the client, which is not heard here.
    eventually("it has read its settings, and says what that means", || {
        let (client, said) = connect();
        let weaknesses = client.guarantees().weaknesses();
        let is_weak = weaknesses == [Weakness::RestartForgetsLast];
        assert!(is_weak || weaknesses.is_empty(), "{weaknesses:?}");
        assert!(said.lines().count() <= usize::from(is_weak), "{said}");
        said.contains("fsync to on (PostgreSQL)")
    });
}

/// Is set when the body ends.
struct Ends<'a>(&'a Cell<Option<Instant>>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set(Some(Instant::now()));
    }
}

#[tokio::test]
async fn a_leader_that_is_cut_off_from_postgresql_ends_its_term_in_time() {
    if is_skipped() {
        return;
    }
    let server = Postgres::start().unwrap();
    let proxy = Proxy::start(server.port());
    let lease = Duration::from_secs(3);
    let at = |port| Client::connect(config(&url_at(&[port])).lease(lease)).unwrap();
    let (leader, standby) = (at(proxy.port()), at(server.port()));
    let (begun, ended) = (Cell::new(0), Cell::new(None));
    let seat = leader.leader("s").stop_within("1s");
    let leads = seat.lead(async |term: &Term| {
        let _ends = Ends(&ended);
        begun.set(term.number());
        pending::<Result<(), LockError>>().await
    });
    let follows = async {
        // It is told to end when a second of its lease is left. A busy machine may be late.
        let mut late = 0;
        loop {
            becomes("a body runs", async || begun.get() > 0).await;
            let first = begun.take();
            proxy.refuse();
            proxy.cut();
            let body = async |term: &Term| Ok::<_, LockError>((term.number(), Instant::now()));
            let next = soon("the next term", standby.leader("s").lead(body)).await;
            let (second, at) = next.unwrap();
            assert!(first < second);
            let between = ended.get().map(|ended| at.saturating_duration_since(ended));
            proxy.heal();
            if between.is_some_and(|it| it >= Duration::from_millis(500)) {
                break;
            }
            late += 1;
            assert!(late < 5, "{between:?}");
        }
        becomes("it stands again", async || begun.get() > 0).await;
    };
    tokio::select! {
        biased;
        led = leads => panic!("{led:?}"),
        () = follows => {}
    }
}

/// A dead client's presence ends with its connection. A frozen one stays present, and is granted nothing that it could not claim.
#[tokio::test]
async fn dead_and_frozen_waiters_are_passed_over() {
    if is_skipped() {
        return;
    }
    let server = Postgres::start().unwrap();
    let client = Client::connect(config(&server.url()).lease(LONG)).unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_test-worker"), server.url(), LONG);
    let guard = client.mutex("m").lock().await.unwrap();
    let [mut frozen, mut dead] = [setup.start(), setup.start()];
    for (count, worker) in [(1, &mut frozen), (2, &mut dead)] {
        worker.say("lock m");
        waiters(&client.mutex("m"), count).await;
    }
    let waiting = {
        let client = client.clone();
        tokio::spawn(async move { client.mutex("m").lock().await.unwrap() })
    };
    waiters(&client.mutex("m"), 3).await;
    assert_eq!(server.members(), 3);
    frozen.stop();
    dead.kill9();
    eventually("the dead one is absent", || server.members() == 2);
    let begun = Instant::now();
    assert!(guard.unlock().await.unwrap());
    let guard = soon("the next one", waiting).await.unwrap();
    assert!(
        begun.elapsed() < LONG / 2,
        "nobody waits for a lease: {:?}",
        begun.elapsed()
    );
    // It had no chance to claim the lock, and has kept its place.
    frozen.cont();
    becomes("it waits", async || {
        let info = client.mutex("m").info().await.unwrap();
        info.waiters.iter().any(|waiter| waiter.pid == frozen.pid())
    })
    .await;
    let token = guard.fencing_token();
    assert!(guard.unlock().await.unwrap());
    assert!(frozen.got("m") > token);
}
