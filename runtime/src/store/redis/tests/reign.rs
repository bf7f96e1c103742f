//! The reign of a server: what is noted of it, and from when on it grants, on a clock by hand.

use std::time::Duration;

use redis::{Connection, Value};

use super::super::reign::{self, Guard};
use super::super::scripts::Scripts;
use super::server::{LONG, Server, attempt, borrowed, guard, run};
use crate::clock::Instant;

/// The scripts' source of time for this test.
const CLOCK: &str = "local function clock() return tonumber(redis.call('GET', 'now')) end\n";
const SECOND: u64 = 1_000_000;
const LAG: Duration = Duration::from_secs(10);
/// After a promotion, with the usual settings.
const CLOSED: u64 = 42 * SECOND;

struct Bench {
    _server: Server,
    connection: Connection,
    scripts: Scripts,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        let server = Server::start();
        let mut connection = server.connection();
        let scripts = Scripts::on_clock(CLOCK);
        for text in scripts.texts() {
            run::<()>(&mut connection, &["SCRIPT", "LOAD", text]);
        }
        let [seconds, _]: [u64; 2] = run(&mut connection, &["TIME"]);
        Self {
            _server: server,
            connection,
            scripts,
            now: seconds * SECOND,
        }
    }

    fn put(&mut self, guard: &Guard, lag: Duration) -> Value {
        run::<()>(&mut self.connection, &["SET", "now", &self.now.to_string()]);
        let mut out = Vec::new();
        reign::ask(&mut out, &self.scripts, guard, lag);
        attempt(&mut self.connection, &out)
    }

    /// For how long the server is still closed.
    fn left(&mut self, guard: &Guard, lag: Duration) -> u64 {
        let reply = self.put(guard, lag);
        let opening = reign::opening(&borrowed(&reply), Instant::now()).expect("a reply");
        opening.map_or(0, |opening| opening.at - self.now)
    }

    fn usual(&mut self) -> u64 {
        self.left(&guard(false), LAG)
    }

    /// It was a replica, and is a primary again.
    fn promote(&mut self) {
        run::<()>(&mut self.connection, &["REPLICAOF", "127.0.0.1", "1"]);
        run::<()>(&mut self.connection, &["REPLICAOF", "NO", "ONE"]);
    }

    fn pass(&mut self, micros: u64) {
        self.now += micros;
    }
}

fn leasing(seconds: u64) -> Guard {
    Guard {
        longest_lease: Duration::from_secs(seconds),
        ..guard(false)
    }
}

#[test]
fn a_promotion_closes_from_when_it_is_seen_first() {
    let mut bench = Bench::new();
    assert_eq!(bench.usual(), 0);
    bench.promote();
    assert_eq!(bench.usual(), CLOSED);
    bench.pass(SECOND);
    assert_eq!(bench.usual(), CLOSED - SECOND);
    bench.pass(CLOSED - SECOND - 1);
    assert_eq!(bench.usual(), 1);
    bench.pass(1);
    assert_eq!(bench.usual(), 0);
    // Once more, it begins anew.
    bench.promote();
    assert_eq!(bench.usual(), CLOSED);
}

#[test]
fn nobody_makes_the_opening_come_sooner() {
    let mut bench = Bench::new();
    bench.promote();
    assert_eq!(bench.left(&leasing(5), Duration::from_secs(1)), 8 * SECOND);
    // Who knows of more makes it later, for all.
    assert_eq!(
        bench.left(&leasing(20), Duration::from_secs(1)),
        23 * SECOND
    );
    assert_eq!(bench.left(&leasing(5), Duration::from_secs(3)), 25 * SECOND);
    bench.pass(SECOND);
    assert_eq!(bench.left(&leasing(5), Duration::ZERO), 24 * SECOND);
}

#[test]
fn what_was_noted_of_another_reign_keeps_the_longest_lease_only() {
    let mut bench = Bench::new();
    assert_eq!(bench.left(&leasing(30), LAG), 0);
    bench.pass(100 * SECOND);
    bench.promote();
    assert_eq!(bench.left(&leasing(1), Duration::from_secs(1)), CLOSED);
}

#[test]
fn a_missing_note_is_no_proof_of_freshness() {
    let mut bench = Bench::new();
    bench.promote();
    bench.usual();
    bench.pass(2 * CLOSED);
    assert_eq!(bench.usual(), 0);
    run::<()>(&mut bench.connection, &["DEL", "auto_mutex:epoch"]);
    assert_eq!(bench.usual(), CLOSED);
}

// (How long the server is up, it says by its own clock.)
#[test]
fn a_restart_closes_where_the_guard_is_on() {
    let mut bench = Bench::new();
    assert_eq!(bench.usual(), 0);
    let left = bench.left(&guard(true), LAG);
    let expected = 31 * SECOND;
    // The server may have been up for some seconds by its own clock.
    assert!(
        (expected - 20 * SECOND..=expected).contains(&left),
        "{left}"
    );
    // From now on for all.
    assert!(bench.usual() > 0);
    run::<()>(&mut bench.connection, &["DEL", "auto_mutex:epoch"]);
    let guard = Guard {
        restart: true,
        ..leasing(5)
    };
    assert!(bench.left(&guard, LAG) <= 6 * SECOND);
}

#[test]
fn a_clock_that_is_stepped_back_closes_for_no_longer() {
    let mut bench = Bench::new();
    bench.promote();
    assert_eq!(bench.usual(), CLOSED);
    bench.now -= 3600 * SECOND;
    assert_eq!(bench.usual(), CLOSED);
    bench.left(&guard(true), LAG);
    bench.now -= 3600 * SECOND;
    assert_eq!(bench.usual(), CLOSED);
}

#[test]
fn a_replica_is_refused() {
    let mut bench = Bench::new();
    run::<()>(&mut bench.connection, &["REPLICAOF", "127.0.0.1", "1"]);
    run::<()>(
        &mut bench.connection,
        &["CONFIG", "SET", "replica-read-only", "no"],
    );
    let reply = bench.put(&guard(false), LAG);
    let Value::ServerError(error) = &reply else {
        panic!("{reply:?}");
    };
    assert_eq!(error.code(), "READONLY");
}

#[test]
fn it_is_noted_under_a_full_memory_and_for_a_week() {
    let mut bench = Bench::new();
    let (mut out, scripts) = (Vec::new(), Scripts::new());
    for text in scripts.texts() {
        run::<()>(&mut bench.connection, &["SCRIPT", "LOAD", text]);
    }
    run::<()>(&mut bench.connection, &["CONFIG", "SET", "maxmemory", "1"]);
    reign::ask(&mut out, &scripts, &guard(false), LAG);
    let reply = attempt(&mut bench.connection, &out);
    assert!(
        reign::opening(&borrowed(&reply), Instant::now()).is_some(),
        "{reply:?}"
    );
    let lives: u64 = run(&mut bench.connection, &["PTTL", "auto_mutex:epoch"]);
    let week = Duration::from_secs(7 * 86_400);
    assert!(week - LONG < Duration::from_millis(lives), "{lives}");
}

#[test]
fn it_is_written_again_once_a_day() {
    let mut bench = Bench::new();
    let noted = |bench: &mut Bench| -> u64 {
        run(
            &mut bench.connection,
            &["HGET", "auto_mutex:epoch", "noted"],
        )
    };
    bench.usual();
    let first = noted(&mut bench);
    bench.pass(86_000 * SECOND);
    bench.usual();
    assert_eq!(noted(&mut bench), first);
    bench.pass(86_000 * SECOND);
    bench.usual();
    assert_eq!(noted(&mut bench), bench.now);
}
