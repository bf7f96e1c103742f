//! The Python client of `examples/python` beside Rust: they share locks on one server.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use auto_mutex::operator::Operator;
use auto_mutex::{Client, Config, Holder, LockError};
use auto_mutex_tests::events::{LONG, becomes, eventually, finishes, soon, waiters};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::witness::Witness;
use auto_mutex_tests::worker::contest::is_strange_loss;
use auto_mutex_tests::worker::{self, Setup, Worker};

const WORKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/languages/worker.py");
const REPLAY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/python/replay.py");
const LEASE: Duration = Duration::from_secs(2);

/// A server, and workers of both languages.
struct Rig {
    redis: Redis,
}

impl Rig {
    /// `None`, and a message, if this machine has no Python.
    fn new() -> Option<Self> {
        // Clients of both languages get only the rights that the library needs.
        has_python().then(|| Self {
            redis: Redis::with(Options::default().least_rights()),
        })
    }

    fn config(&self) -> Config {
        let config = Config::new(self.redis.url()).expect("a good URL");
        config.namespace("suite").lease(LONG).connect_timeout("60s")
    }

    fn client(&self) -> Client {
        Client::connect(self.config()).expect("a client")
    }

    fn rust(&self, lease: Duration) -> Worker {
        Setup::new(env!("CARGO_BIN_EXE_test-worker"), self.redis.url(), lease).start()
    }

    fn python(&self, lease: Duration) -> Worker {
        let mut setup = Setup::new(WORKER, self.redis.url(), lease);
        setup.launcher = &["python3"];
        setup.start()
    }
}

/// Without Python, says so on stderr itself: the test harness hides what passing tests print.
fn has_python() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]);
    let found = python.status().is_ok_and(|status| status.success());
    if !found {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: this test needs python3, version 3.9 or later"
        );
    }
    found
}

#[test]
fn python_plays_the_vectors() {
    if !has_python() {
        return;
    }
    let redis = Redis::start();
    let replay = Command::new("python3")
        .args([REPLAY, &redis.url()])
        .stderr(Stdio::piped())
        .output()
        .expect("python3 starts");
    let errors = String::from_utf8_lossy(&replay.stderr);
    assert!(replay.status.success(), "{errors}");
}

#[tokio::test]
async fn a_lock_goes_from_language_to_language_in_order() {
    let Some(rig) = Rig::new() else { return };
    let observer = rig.client();
    // Both languages escape it in the same way.
    let name = "m:%{ü}";
    let mutex = observer.mutex(name);
    let mut holder = rig.python(LONG);
    let mut last = holder.lock(name);
    let mut waiting: Vec<_> = (0..2)
        .flat_map(|_| [rig.rust(LONG), rig.python(LONG)])
        .collect();
    for (number, worker) in waiting.iter_mut().enumerate() {
        worker.say(&format!("lock {name}"));
        waiters(&mutex, number + 1).await;
    }
    let info = mutex.info().await.unwrap();
    let (shown, next) = (info.holder().expect("a holder"), &info.waiters[1]);
    assert_eq!((shown.pid, &shown.host), (holder.pid(), &next.host));
    for (site, line) in [(&shown.site, shown.line()), (&next.site, next.line())] {
        assert!(site.starts_with("lock at /") && line.is_some(), "{site}");
    }
    // One that stands still at its turn is passed over, and keeps its place.
    while !waiting.is_empty() {
        let places = mutex.info().await.unwrap().waiters;
        let places: Vec<_> = places.iter().map(|waiter| waiter.pid).collect();
        let pids: Vec<_> = waiting.iter().map(Worker::pid).collect();
        assert_eq!(places, pids, "in the order of arrival");
        holder.say(&format!("unlock {name}"));
        holder.expect(&format!("unlocked {name} true"));
        let (next, token) = worker::next(&mut waiting, name);
        assert!(token > last);
        (holder, last) = (next, token);
        waiters(&mutex, waiting.len()).await;
    }
}

#[tokio::test]
async fn a_killed_holder_frees_the_lock_within_its_lease() {
    let _watch = real_time();
    let Some(rig) = Rig::new() else { return };
    let mutex = rig.client().mutex("m");
    let mut holder = rig.python(LEASE);
    let token = holder.lock("m");
    holder.kill9();
    // At most one lease is left, and no process renews it.
    let left = mutex.info().await.unwrap().expires_in;
    assert!(left.is_none_or(|left| left <= LEASE), "{left:?}");
    let guard = soon("the next one", mutex.lock()).await.unwrap();
    assert!(guard.fencing_token() > token);
}

#[tokio::test]
async fn a_python_process_renews_its_lease() {
    let _watch = real_time();
    let Some(rig) = Rig::new() else { return };
    let (mutex, mut holder) = (rig.client().mutex("m"), rig.python(4 * LEASE));
    holder.lock("m");
    let mut last = mutex.info().await.unwrap().expires_in;
    becomes("more of its lease is left than before", async || {
        let left = mutex.info().await.unwrap().expires_in;
        let more = left > last;
        last = left;
        more
    })
    .await;
}

#[tokio::test]
async fn a_python_process_suspended_beyond_its_lease_knows_it() {
    let _watch = real_time();
    let Some(rig) = Rig::new() else { return };
    let client = rig.client();
    let mut holder = rig.python(LEASE);
    let token = holder.lock("m");
    holder.stop();
    let guard = soon("the next one", client.mutex("m").lock())
        .await
        .unwrap();
    assert!(guard.fencing_token() > token);
    holder.cont();
    holder.say("check m");
    holder.expect("lost m");
    holder.say("unlock m");
    holder.expect("unlocked m false");
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_waiter_that_gives_up_or_dies_is_forgotten() {
    let _watch = real_time();
    let Some(rig) = Rig::new() else { return };
    let client = rig.client();
    let mutex = client.mutex("m");
    let guard = mutex.lock().await.unwrap();
    let mut waiter = rig.python(LEASE);
    waiter.say("try m");
    waiter.expect("busy m");
    waiter.say("lock m 6000");
    waiters(&mutex, 1).await;
    waiter.expect("failed m Timeout");
    waiters(&mutex, 0).await;
    waiter.say("lock m");
    waiters(&mutex, 1).await;
    waiter.kill9();
    waiters(&mutex, 0).await;
    assert!(guard.unlock().await.unwrap());
}

#[tokio::test]
async fn a_lost_connection_costs_neither_a_hold_nor_a_place() {
    let Some(rig) = Rig::new() else { return };
    let client = rig.client();
    let (mut holder, mut waiter, mut last) = (rig.python(LONG), rig.python(LONG), rig.rust(LONG));
    let mutex = client.mutex("m");
    let token = holder.lock("m");
    waiter.say("lock m");
    waiters(&mutex, 1).await;
    last.say("lock m");
    waiters(&mutex, 2).await;
    // New connections find the scripts missing.
    rig.redis.command(&["SCRIPT", "FLUSH"]);
    rig.redis.kill_clients();
    eventually("all have new connections", || {
        let channels = ["PUBSUB", "CHANNELS", "auto_mutex:member:*"];
        rig.redis.command(&channels).texts().len() == 4
    });
    let waiting = mutex.info().await.unwrap().waiters;
    let pids: Vec<_> = waiting.iter().map(|waiter| waiter.pid).collect();
    assert_eq!(pids, [waiter.pid(), last.pid()]);
    holder.say("check m");
    holder.expect("held m");
    holder.say("unlock m");
    holder.expect("unlocked m true");
    let mut waiting = vec![waiter, last];
    let (mut first, _) = worker::next(&mut waiting, "m");
    first.say("unlock m");
    first.expect("unlocked m true");
    assert!(waiting[0].got("m") > token);
}

#[tokio::test]
async fn lost_scripts_cost_no_release() {
    let Some(rig) = Rig::new() else { return };
    let client = rig.client();
    let mut holder = rig.python(LONG);
    holder.lock("m");
    let mutex = client.mutex("m");
    let next = tokio::spawn(async move { mutex.lock().await });
    waiters(&client.mutex("m"), 1).await;
    rig.redis.command(&["SCRIPT", "FLUSH"]);
    holder.say("unlock m");
    holder.expect("unlocked m true");
    let guard = soon("the next one", next).await.unwrap().unwrap();
    assert!(guard.unlock().await.unwrap());
}

#[test]
fn an_operator_sees_python_and_breaks_its_hold() {
    let Some(rig) = Rig::new() else { return };
    let operator = Operator::connect(rig.config()).unwrap();
    let (mut holder, mut waiter) = (rig.python(LONG), rig.python(LONG));
    let token = holder.lock("m");
    waiter.say("lock m");
    eventually("the waiter is seen", || {
        let lock = operator.inspect(&["suite:m"]).unwrap().remove(0).unwrap();
        let [hold] = &lock.holders[..] else {
            panic!("{lock:?}");
        };
        let pids = |who: &Option<Holder>| who.as_ref().map(|who| who.pid);
        assert_eq!(pids(&hold.who), Some(holder.pid()));
        assert!(hold.has_token(token));
        lock.waiters.first().map(|wait| pids(&wait.who)) == Some(Some(waiter.pid()))
    });
    assert!(operator.kick("suite:m", token).unwrap());
    assert!(waiter.got("m") > token);
    eventually("the holder learns it", || {
        holder.say("check m");
        holder.hear().as_deref() == Some("lost m")
    });
    holder.say("unlock m");
    holder.expect("unlocked m false");
    assert!(!operator.kick("suite:m", token).unwrap());
    waiter.say("unlock m");
    waiter.expect("unlocked m true");
}

#[tokio::test]
async fn a_closed_server_grants_nothing_to_python() {
    let Some(rig) = Rig::new() else { return };
    let python = || rig.python(LONG);
    let mut early = python();
    early.lock("a");
    // From now on, the server counts as restarted, for all clients: one of them wants the guard, and it is a new
    // server.
    let guarded = Client::connect(rig.config().restart_guard(true)).expect("a client");
    let refused = guarded.mutex("b").try_lock().await.unwrap_err();
    assert!(
        matches!(refused, LockError::Unavailable { .. }),
        "{refused:?}"
    );
    let mut late = python();
    late.say("try b");
    late.expect("busy b");
    late.say("lock b 200");
    late.expect("failed b Timeout");
    // The first one learns it too, and keeps its lock.
    becomes("the first one takes no lock", async || {
        early.say("try c");
        match early.hear().expect("an answer").split(' ').next() {
            Some("busy") => true,
            Some("got") => {
                early.say("unlock c");
                early.expect("unlocked c true");
                false
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
    early.say("check a");
    early.expect("held a");
    early.say("unlock a");
    early.expect("unlocked a true");
}

#[test]
fn a_promoted_server_grants_nothing_to_python() {
    if !has_python() {
        return;
    }
    let replicated = || Redis::with(Options::default().replicated());
    let (primary, redis) = (replicated(), replicated());
    redis.follow(&primary);
    redis.promote();
    let rig = Rig { redis };
    let mut python = rig.python(LONG);
    python.say("try m");
    python.expect("busy m");
    python.say("lock m 200");
    python.expect("failed m Timeout");
}

#[test]
fn a_fleet_of_two_languages_takes_turns() {
    let Some(rig) = Rig::new() else { return };
    let witness = Witness::new();
    let mut workers: Vec<_> = (0..2)
        .flat_map(|_| [rig.python(LONG), rig.rust(LONG)])
        .collect();
    for (seed, worker) in workers.iter_mut().enumerate() {
        let port = witness.port();
        worker.say(&format!("contest mutex m 600000 3 {port} {seed}"));
    }
    // Each task of each language gets many turns.
    eventually("all of them get on", || {
        let entered = witness.verdict().entered;
        entered.len() == 12 && entered.values().all(|count| *count >= 15)
    });
    let (verdict, said) = witness.end_contest(&mut workers);
    let strange: Vec<_> = said.iter().filter(|line| is_strange_loss(line)).collect();
    assert_eq!(strange, [""; 0], "a lease of 30 s ends");
    assert_eq!((verdict.crowded, verdict.stale_writes), (0, 0));
    assert_eq!(verdict.usage.len(), 1, "both languages name the same lock");
    let mut turns = BTreeMap::<_, u64>::new();
    let pids: Vec<_> = workers
        .iter()
        .map(|worker| worker.pid().to_string())
        .collect();
    for (who, count) in &verdict.entered {
        let process = who.split('/').next().unwrap_or_default();
        let index = pids
            .iter()
            .position(|pid| pid == process)
            .expect("a worker");
        *turns.entry(["Python", "Rust"][index % 2]).or_default() += count;
    }
    println!("{turns:?}, {} proven", verdict.proven);
    let observer = rig.client();
    finishes("the lock is free", move || {
        assert!(
            observer
                .mutex("m")
                .blocking_lock()
                .unwrap()
                .blocking_unlock()
                .unwrap()
        );
    });
}
