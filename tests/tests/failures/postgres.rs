//! The same on PostgreSQL: set-up that fails, and what a server guarantees.

use std::time::Duration;

use auto_mutex::{AfterFailover, AfterRestart, Client, Eviction, SetupError, Weakness};
use auto_mutex_tests::chain;
use auto_mutex_tests::databases::{self, missing_postgres};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::postgres::Postgres;
use auto_mutex_tests::spans::Spans;

use crate::rig::config;

/// Without PostgreSQL, says so.
fn is_skipped() -> bool {
    missing_postgres().is_some_and(|missing| {
        println!("SKIPPED: {missing}");
        true
    })
}

type IsKind = fn(&SetupError) -> bool;

/// Each case has the kind of the error, a part of its text, and what it says to do. The store's own tests have the
/// others.
#[test]
fn each_failed_set_up_says_what_to_do() {
    if is_skipped() {
        return;
    }
    let server = Postgres::start().unwrap();
    let rules = "('host all app all scram-sha-256'), ('host fresh bare all trust')";
    server.ask("CREATE ROLE app LOGIN PASSWORD 'right'; CREATE ROLE bare LOGIN");
    server.ask("CREATE DATABASE fresh");
    let loaded = || server.ask("SELECT pg_conf_load_time()");
    let before = loaded();
    server.ask(&format!(
        "DO $$ BEGIN EXECUTE format('COPY (VALUES {}, (''local all all trust''), (''host all test all trust''), \
         (''host replication all all trust'')) TO %L', current_setting('hba_file')); PERFORM pg_reload_conf(); END $$",
        rules.replace('\'', "''")
    ));
    eventually("the server has read its rules", || loaded() != before);
    let _standby = server.standby();
    // The schema is in one of the two databases.
    drop(Client::connect(config(&server.url())).unwrap());
    let url =
        |user: &str, port: u16, rest: &str| format!("postgres://{user}@127.0.0.1:{port}/{rest}");
    let (port, plain) = (server.port(), "postgres?sslmode=disable");
    let unsuitable: IsKind = |it| matches!(it, SetupError::Unsuitable { .. });
    let authentication: IsKind = |it| matches!(it, SetupError::Authentication { .. });
    let cases: [(String, IsKind, &str, &str); 4] = [
        (
            url("test", port, "nowhere?sslmode=disable"),
            unsuitable,
            "no such database",
            "create it (`createdb`)",
        ),
        (
            url("app:hunter2", port, plain),
            authentication,
            "for the user `app`, the password is wrong",
            "",
        ),
        (
            url("nobody", port, plain),
            authentication,
            "for the user `nobody`, pg_hba.conf has no rule for this client",
            "use `sslmode=require`",
        ),
        (
            url("bare", port, "fresh?sslmode=disable"),
            unsuitable,
            "is missing, and this user may not make it",
            "let an administrator run what `auto-mutex schema --postgres` prints",
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
    let with_standby = Client::connect(config(&server.url())).unwrap().guarantees();
    assert!(
        matches!(
            with_standby.failover,
            AfterFailover::OldPrimaryGoesOn { .. }
        ),
        "{with_standby}"
    );
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
        let (spans, _listening) = Spans::listen();
        (Client::connect(config).unwrap(), spans.warnings())
    };
    let (client, said) = connect();
    let found = client.guarantees();
    let time = Duration::from_secs(20);
    assert_eq!(found.restart, AfterRestart::Closed { time });
    assert_eq!(found.failover, AfterFailover::NoReplicas);
    assert_eq!(found.eviction, Eviction::Never);
    assert!(found.fifo && found.fencing_tokens);
    assert_eq!((found.weaknesses(), said), (vec![], vec![]));

    assert!(server.runs("ALTER SYSTEM SET fsync = off") && server.runs("SELECT pg_reload_conf()"));
    // Whoever is first says it: this thread, or that of the client, which is not heard here.
    eventually("it has read its settings, and says what that means", || {
        let (client, said) = connect();
        let weaknesses = client.guarantees().weaknesses();
        let is_weak = weaknesses == [Weakness::RestartForgetsLast];
        assert!(is_weak || weaknesses.is_empty(), "{weaknesses:?}");
        assert!(said.len() <= usize::from(is_weak), "{said:?}");
        said.concat().contains("fsync to on (PostgreSQL)")
    });
}
