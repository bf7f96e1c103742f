//! A server's epoch: its key, and when the server starts to grant, with a manual clock.

use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_seam::store::{clock, lock};
use redis::{Connection, Value};

use super::server::{CLOCK, LONG, Server, attempt, borrowed, guard, run};
use crate::connect::epoch::{self, Epoch, Guard};
use crate::script::Scripts;

const EPOCH: &str = "auto_mutex:epoch";
const SECOND: u64 = 1_000_000;
const LAG: Duration = Duration::from_secs(10);
/// How long a server stays closed after a promotion, with the usual settings.
const CLOSED: u64 = 42 * SECOND;

struct Bench {
    server: Server,
    connection: Connection,
    scripts: Scripts,
    now: u64,
    began: std::time::Instant,
}

impl Bench {
    fn new() -> Self {
        let server = Server::start();
        let mut connection = server.connection();
        let scripts = Scripts::made_of(CLOCK, false);
        load(&mut connection, &scripts);
        let [seconds, _]: [u64; 2] = run(&mut connection, &["TIME"]);
        Self {
            server,
            connection,
            scripts,
            now: seconds * SECOND,
            began: std::time::Instant::now(),
        }
    }

    /// Checks that `left` equals `other` minus the seconds since the test began. After a restart, the server counts by
    /// its own clock, not by the test's.
    #[track_caller]
    fn same(&self, left: u64, other: u64) {
        let passed = (self.began.elapsed().as_secs() + 1) * SECOND;
        assert!((other - passed..=other).contains(&left), "{left}, {other}");
    }

    fn put(&mut self, guard: &Guard, lag: Duration) -> Value {
        run::<()>(&mut self.connection, &["SET", "now", &self.now.to_string()]);
        let mut out = Vec::new();
        assert!(epoch::ask(&mut out, &self.scripts, guard, 0, lag));
        attempt(&mut self.connection, &out)
    }

    /// Returns how much longer the server is closed.
    fn left(&mut self, guard: &Guard, lag: Duration) -> u64 {
        let reply = self.put(guard, lag);
        let epoch = Epoch::read(&borrowed(&reply), guard, lag, clock::now()).expect("a reply");
        assert_eq!(epoch.closed.is_some(), epoch.opens_at > 0);
        epoch.opens_at.saturating_sub(self.now)
    }

    fn usual(&mut self) -> u64 {
        self.left(&guard(false), LAG)
    }

    /// Makes the server a replica, and then a primary again.
    fn promote(&mut self) {
        run::<()>(&mut self.connection, &["REPLICAOF", "127.0.0.1", "1"]);
        run::<()>(&mut self.connection, &["REPLICAOF", "NO", "ONE"]);
    }

    /// Restarts the server as a primary, with its epoch key or without data.
    fn restart(&mut self, with_key: bool) {
        let fields: Vec<String> = run(&mut self.connection, &["HGETALL", EPOCH]);
        self.server.restart();
        self.connection = self.server.connection();
        load(&mut self.connection, &self.scripts);
        if with_key {
            let mut words = vec!["HSET", EPOCH];
            words.extend(fields.iter().map(String::as_str));
            run::<()>(&mut self.connection, &words);
        }
    }

    fn pass(&mut self, micros: u64) {
        self.now += micros;
    }
}

fn load(connection: &mut Connection, scripts: &Scripts) {
    for text in scripts.texts() {
        run::<()>(connection, &["SCRIPT", "LOAD", text]);
    }
}

fn unreplicated() -> Guard {
    let mut guard = guard(true);
    guard.options.is_voter = true;
    guard
}

fn leasing(seconds: u64) -> Guard {
    let mut guard = guard(false);
    guard.options.longest_lease = Duration::from_secs(seconds);
    guard
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
    // A second promotion closes the server for the full time again.
    bench.promote();
    assert_eq!(bench.usual(), CLOSED);
}

#[test]
fn nobody_makes_the_opening_come_sooner() {
    let mut bench = Bench::new();
    bench.promote();
    assert_eq!(bench.left(&leasing(5), Duration::from_secs(1)), 8 * SECOND);
    // A member with a longer lease postpones the opening, for all members.
    assert_eq!(
        bench.left(&leasing(20), Duration::from_secs(1)),
        23 * SECOND
    );
    assert_eq!(bench.left(&leasing(5), Duration::from_secs(3)), 25 * SECOND);
    bench.pass(SECOND);
    assert_eq!(bench.left(&leasing(5), Duration::ZERO), 24 * SECOND);
}

#[test]
fn what_was_noted_of_another_term_keeps_the_longest_lease_only() {
    let mut bench = Bench::new();
    assert_eq!(bench.left(&leasing(30), LAG), 0);
    bench.pass(100 * SECOND);
    bench.promote();
    assert_eq!(bench.left(&leasing(1), Duration::from_secs(1)), CLOSED);
}

#[test]
fn a_missing_key_is_no_proof_of_freshness() {
    let mut bench = Bench::new();
    bench.promote();
    bench.usual();
    bench.pass(2 * CLOSED);
    assert_eq!(bench.usual(), 0);
    run::<()>(&mut bench.connection, &["DEL", EPOCH]);
    assert_eq!(bench.usual(), CLOSED);
}

/// Checks that `left` is about `seconds` minus the server's uptime by its own clock.
#[track_caller]
fn about(left: u64, seconds: u64) {
    let expected = seconds * SECOND;
    assert!(
        (expected - 20 * SECOND..=expected).contains(&left),
        "{left}"
    );
}

#[test]
fn a_restart_closes_where_the_guard_is_on() {
    let mut bench = Bench::new();
    assert_eq!(bench.usual(), 0);
    // Without replicas, only the restart counts, so the time is shorter.
    let alone = bench.left(&unreplicated(), LAG);
    about(alone, 31);
    let left = bench.left(&guard(true), LAG);
    about(left, 42);
    bench.same(left, alone + 11 * SECOND);
    // From now on, the longer time counts for all members.
    let usual = bench.usual();
    bench.same(usual, left);
    let alone = bench.left(&unreplicated(), LAG);
    bench.same(alone, left);
    run::<()>(&mut bench.connection, &["DEL", EPOCH]);
    let mut guard = leasing(5);
    guard.options.restart_guard = true;
    assert!(bench.left(&guard, LAG) <= 17 * SECOND);
}

#[test]
fn a_restart_does_not_end_what_a_promotion_began() {
    let mut bench = Bench::new();
    bench.promote();
    assert_eq!(bench.usual(), CLOSED);
    for seconds in 1..3 {
        bench.pass(SECOND);
        bench.restart(true);
        // The opening time is the same whether or not the member's guard counts restarts.
        assert_eq!(bench.usual(), CLOSED - seconds * SECOND);
        let alone = unreplicated();
        assert_eq!(bench.left(&alone, LAG), CLOSED - seconds * SECOND);
    }
    bench.pass(CLOSED);
    bench.restart(true);
    assert_eq!(bench.usual(), 0);
}

#[test]
fn a_restart_without_the_key_may_have_come_after_a_promotion() {
    let mut bench = Bench::new();
    bench.promote();
    assert_eq!(bench.left(&guard(true), LAG), CLOSED);
    bench.restart(false);
    let alone = bench.left(&unreplicated(), LAG);
    let left = bench.left(&guard(true), LAG);
    bench.same(left, alone + 11 * SECOND);
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

/// A node of a cluster is promoted before any member knows a key on it.
#[test]
fn who_knows_no_key_remembers_the_epoch_himself() {
    let mut bench = Bench::new();
    let guard = Guard {
        keys: Mutex::default(),
        ..guard(false)
    };
    assert_eq!(bench.left(&guard, LAG), 0);
    bench.promote();
    assert_eq!(bench.left(&guard, LAG), CLOSED);
    bench.pass(SECOND);
    assert_eq!(bench.left(&guard, LAG), CLOSED - SECOND);
    let keys: u32 = run(&mut bench.connection, &["EXISTS", EPOCH]);
    assert_eq!(keys, 0);
    // Another member recorded a longer lease, so this member must ask again as soon as it has a key.
    assert!(!lock(&guard.keys).are_new());
    assert!(bench.left(&leasing(60), LAG) > CLOSED);
    lock(&guard.keys).keys = vec![EPOCH.to_owned()];
    assert!(lock(&guard.keys).are_new());
    assert_eq!(bench.left(&guard, LAG), CLOSED + 29 * SECOND);
    assert!(
        lock(&guard.keys).are_new(),
        "it may have been somebody beside"
    );
    lock(&guard.keys).asked_again();
    assert!(!lock(&guard.keys).are_new());
}

#[test]
fn it_is_written_under_a_full_memory_and_for_a_week() {
    let mut bench = Bench::new();
    let (mut out, scripts) = (Vec::new(), Scripts::of(false));
    for text in scripts.texts() {
        run::<()>(&mut bench.connection, &["SCRIPT", "LOAD", text]);
    }
    run::<()>(&mut bench.connection, &["CONFIG", "SET", "maxmemory", "1"]);
    assert!(epoch::ask(&mut out, &scripts, &guard(false), 0, LAG));
    let reply = attempt(&mut bench.connection, &out);
    assert!(
        Epoch::read(&borrowed(&reply), &guard(false), LAG, clock::now()).is_some(),
        "{reply:?}"
    );
    let lives: u64 = run(&mut bench.connection, &["PTTL", EPOCH]);
    let week = Duration::from_secs(7 * 86_400);
    assert!(week - LONG < Duration::from_millis(lives), "{lives}");
}

#[test]
fn it_is_written_again_once_a_day() {
    let mut bench = Bench::new();
    let written =
        |bench: &mut Bench| -> u64 { run(&mut bench.connection, &["HGET", EPOCH, "written"]) };
    bench.usual();
    let first = written(&mut bench);
    bench.pass(86_000 * SECOND);
    bench.usual();
    assert_eq!(written(&mut bench), first);
    bench.pass(86_000 * SECOND);
    bench.usual();
    assert_eq!(written(&mut bench), bench.now);
}

#[test]
fn a_longer_lease_is_forgotten_when_nobody_has_reported_it_for_a_week() {
    const WEEK: u64 = 7 * 86_400 * SECOND;
    let mut bench = Bench::new();
    bench.promote();
    let (long, short) = (leasing(30), leasing(5));
    assert_eq!(bench.left(&long, LAG), CLOSED);
    // The longer lease counts until the end of the week after its report. Members that only read it in the key do not
    // report it.
    bench.pass(WEEK + SECOND);
    bench.promote();
    assert_eq!(bench.left(&short, LAG), CLOSED);
    bench.pass(WEEK + SECOND);
    bench.promote();
    assert_eq!(bench.left(&short, LAG), CLOSED - 25 * SECOND);
    // The longer lease does not come back through members that once read it in the key.
    assert_eq!(bench.left(&short, LAG), CLOSED - 25 * SECOND);
    let late = leasing(5);
    assert_eq!(bench.left(moved(&late), LAG), CLOSED - 25 * SECOND);
    // A member that still has the longer lease makes it count again, now and for the next week.
    assert_eq!(bench.left(&long, LAG), CLOSED);
    bench.pass(WEEK + SECOND);
    bench.promote();
    assert_eq!(bench.left(&short, LAG), CLOSED);
}

/// Gives the guard another key, as if the node's first slot had changed.
fn moved(guard: &Guard) -> &Guard {
    lock(&guard.keys).keys = vec!["auto_mutex:epoch:{1}".to_owned()];
    guard
}

#[test]
fn what_one_key_said_counts_for_the_next_one() {
    let mut bench = Bench::new();
    bench.promote();
    let long = leasing(30);
    assert_eq!(bench.left(&long, LAG), CLOSED);
    let member = leasing(5);
    assert_eq!(bench.left(&member, LAG), CLOSED);
    bench.pass(SECOND);
    // The longest lease is taken over too, whichever member reported it.
    assert_eq!(bench.left(moved(&member), LAG), CLOSED - SECOND);
    bench.pass(CLOSED);
    assert_eq!(bench.left(&member, LAG), 0);
    assert_eq!(bench.left(moved(&leasing(5)), LAG), 0);
    // A second promotion closes the server for the full time again.
    bench.promote();
    assert_eq!(bench.left(&member, LAG), CLOSED);
}

#[test]
fn who_knows_nothing_and_comes_first_closes_it_until_somebody_does() {
    let mut bench = Bench::new();
    bench.promote();
    let member = leasing(30);
    bench.left(&member, LAG);
    bench.pass(CLOSED);
    assert_eq!(bench.left(&member, LAG), 0);
    assert_eq!(bench.left(moved(&leasing(30)), LAG), CLOSED);
    assert_eq!(bench.left(moved(&member), LAG), 0);
    assert_eq!(bench.left(moved(&leasing(30)), LAG), 0);
}

#[test]
fn a_promotion_before_a_restart_is_not_forgotten_with_the_key() {
    let mut bench = Bench::new();
    bench.promote();
    bench.usual();
    bench.restart(true);
    let member = leasing(30);
    assert_eq!(bench.left(&member, LAG), CLOSED);
    assert_eq!(bench.left(moved(&member), LAG), CLOSED);
}
