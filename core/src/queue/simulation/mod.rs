//! The local queue under a hostile network: many members and one name, in a [`World`]. The seed decides the order of
//! requests, replies, messages, broken connections, late copies, cancels, suspensions and crashes. It also decides
//! whether the name is a mutex, a semaphore with signals, or a readers-writer lock. A stranger hears all messages, and sends
//! what it likes.
//!
//! At every grant:
//! - the holds that are valid by their members' own clocks fit into the capacity;
//! - the fencing token is greater than those before;
//! - no other ticket holds the same signal.
//!
//! At the end:
//! - every waiter is served, immediately if no member died;
//! - no signal is lost, and nothing is left in the store;
//! - every caller that waits for the result of an unlock or a renewal gets a correct one.
//!
//! If messages are merely reordered, no hold is lost, and no other ticket is granted before an `at_least` is over.
//!
//! `AUTO_MUTEX_SEED=n cargo test -p auto-mutex-core --lib simulation` replays one run; `AUTO_MUTEX_RUNS=n` makes more.

mod call;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use self::call::plain;
use crate::base::clock::{self, Instant};
use crate::base::error::LockKind;
use crate::base::name::Name;
use crate::base::sync::{Mutex, MutexGuard};
use crate::base::wait::lock;
use crate::locks::client::Client;
use crate::queue::tests::somebody;
use crate::queue::{Hold, Patience};
use crate::store::RW_LOCK;
use crate::store::Share;
use crate::test_kit::{self, Running, Runs, World};

const STEPS: u32 = 150;
/// More than the first three, so that some are told when they become near, and a stranger learns of waiters.
const HOSTS: usize = 5;
const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Seen {
    last_token: u64,
    /// Until when the store keeps the ticket of the last released hold, because of its `at_least`.
    kept_until: Option<Instant>,
    /// What the callers have, each with its host.
    holds: Vec<(usize, Arc<Hold>)>,
    /// The signals that were added, and those that a caller has used.
    sent: HashSet<Arc<str>>,
    used: Vec<Arc<str>>,
}

struct Run {
    world: World,
    name: Name,
    /// Requests, replies and messages are reordered, but no connection breaks and no member dies.
    calm: bool,
    /// Any share of the lock, which says what kind of lock it is.
    kind: Share,
    /// The budget of local handoffs: how many, and for how long.
    handoff: (u32, Duration),
    seen: Mutex<Seen>,
    over: Notify,
    is_over: AtomicBool,
}

/// How many calls of all runs got the lock, and how many of them by a local handoff.
type Tally = [AtomicU32; 2];

impl Run {
    fn new(world: World, calm: bool) -> Self {
        let kind = match world.random(4) {
            0 | 1 => Share::of(1, 1),
            2 => Share::permits(1, world.random(4) as u32),
            _ => Share::READER,
        };
        let handoffs = [(100, SECOND / 200), (0, Duration::ZERO), (3, 20 * SECOND)];
        Self {
            handoff: handoffs[world.random(3) as usize],
            world,
            name: Name::from_escaped("sim:name"),
            calm,
            kind,
            seen: Mutex::default(),
            over: Notify::new(),
            is_over: false.into(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    fn below(&self, options: u64) -> u64 {
        self.world.random(options)
    }

    /// `false` is the usual case.
    fn one_in(&self, options: u64) -> bool {
        self.below(options) == options - 1
    }

    fn millis(&self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }

    fn some_time(&self) -> Duration {
        let spans = [1, 10, 100, 700, 2500];
        let span = self.below(if self.calm { 2 } else { 5 });
        self.millis(0, spans[span as usize])
    }

    /// Waits for less than one of these numbers of milliseconds, and no longer than the run.
    async fn pause<const N: usize>(&self, choices: [u64; N]) {
        let time = self.millis(0, choices[self.below(N as u64) as usize]);
        if !self.is_over.load(Ordering::Relaxed) {
            let _ = timeout(time, self.over.notified()).await;
        }
    }

    fn share(&self) -> Share {
        let units = match self.kind.capacity {
            RW_LOCK => [1, RW_LOCK][self.below(2) as usize],
            permits => 1 + self.below(u64::from(permits.max(1))) as u32,
        };
        let kind = self.kind;
        Share { units, ..kind }
    }

    /// A caller that asked when `before` was the greatest token has `hold`.
    fn obtained(&self, host: usize, hold: &Arc<Hold>, mut before: u64, tally: &Tally) {
        let (token, signal) = (hold.grant.token, &hold.grant.signal);
        let mut seen = self.seen();
        let handed = token % 1024;
        assert!(handed <= u64::from(self.handoff.0), "handed on too often");
        // When several callers get the lock at once, a later grant may be noticed first.
        if self.kind == Share::of(1, 1) {
            before = seen.last_token;
            let kept = seen.kept_until.filter(|_| self.calm);
            let kept = kept.is_some_and(|until| clock::now() < until);
            assert!(!kept, "obtained before the last `at_least` was over");
        }
        assert!(token > before, "the fencing token did not grow");
        seen.last_token = seen.last_token.max(token);
        seen.holds.retain(|(_, hold)| hold.is_valid());
        let mut others = seen.holds.iter();
        let doubled = signal.is_some() && others.any(|(_, other)| other.grant.signal == *signal);
        assert!(!doubled, "a signal in two hands");
        seen.holds.push((host, hold.clone()));
        tally[0].fetch_add(1, Ordering::Relaxed);
        tally[1].fetch_add(u32::from(handed > 0), Ordering::Relaxed);
    }

    fn join(&self, number: usize) -> Client {
        let config = self.world.config(&format!("h{number}"));
        let config = config.lease("10s").store_timeout("1000s");
        Client::connect(config.local_handoff(self.handoff.0, self.handoff.1)).unwrap()
    }

    async fn all(self: Arc<Self>, tally: Arc<Tally>) {
        let mut hosts: Vec<_> = (0..HOSTS).map(|number| self.join(number)).collect();
        let (mut alive, mut work) = (Vec::from_iter(0..HOSTS), Vec::new());
        for _ in 0..STEPS {
            let which = self.below(HOSTS as u64) as usize;
            let (host, client) = (alive[which], &hosts[alive[which]]);
            if self.one_in(3) {
                drop(self.world.forge());
            }
            match self.below(if self.calm { 11 } else { 20 }) {
                0..=4 => {
                    let call = self
                        .clone()
                        .call(host, client.core().clone(), tally.clone());
                    work.push(self.world.on(client, call));
                }
                5 if self.kind.kind == LockKind::Semaphore => work.push(self.signal(client)),
                6 => drop(self.world.delay(self.some_time())),
                11 | 12 => drop(self.world.disconnect(client)),
                13..=15 => drop(self.world.reconnect(client)),
                16 => drop(self.world.suspend(client)),
                17 | 18 => drop(self.world.resume(client)),
                19 if self.one_in(10) => {
                    drop(self.world.kill(client));
                    self.seen().holds.retain(|hold| hold.0 != host);
                    alive[which] = hosts.len();
                    hosts.push(self.join(hosts.len()));
                }
                19 if self.one_in(5) => sleep(Duration::from_millis(9_950)).await,
                7 | 8 => tokio::task::yield_now().await,
                _ => sleep(self.some_time()).await,
            }
        }
        self.settle(&hosts, &alive, work).await;
    }

    /// Ends all faults. Then every caller must be served, and nothing may be left.
    async fn settle(self: &Arc<Self>, hosts: &[Client], alive: &[usize], work: Vec<Running<()>>) {
        drop(self.world.delay(Duration::ZERO));
        for host in alive {
            drop(self.world.resume(&hosts[*host]));
            drop(self.world.reconnect(&hosts[*host]));
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.over.notify_waiters();
        let last = self.join(hosts.len());
        let waiters = work.iter().filter(|_| self.kind == Share::permits(1, 0));
        let signals: Vec<_> = waiters.map(|_| self.signal(&last)).collect();
        let started = self.world.now();
        for work in work.into_iter().chain(signals) {
            let ended = timeout(100 * SECOND, work.outcome()).await;
            assert!(ended.is_ok(), "somebody waits for ever");
        }
        let took = self.world.now() - started;
        // The last copies of requests arrive. Then only the tickets of crashed members are left, until their leases end.
        self.world.advance(6 * SECOND).await;
        let records = self.world.records().into_iter();
        let holders: Vec<_> = records.flat_map(|it| it.1.holders).collect();
        if hosts.len() == alive.len() {
            assert!(took < 8 * SECOND, "it took {took:?}");
            assert!(holders.is_empty(), "nobody wants it: {holders:?}");
        }
        self.world.advance(34 * SECOND).await;
        self.world.assert_no_overlap();
        self.world.assert_all_released();
        self.check_signals(&last).await;
        assert_eq!(self.world.left_in_store(), [""; 0]);
    }

    /// Checks that every signal was taken or is still available, and, without faults, that none was taken twice.
    async fn check_signals(&self, client: &Client) {
        let want = plain(Share::NOTIFICATION, Patience::NONE);
        let mut found = self.seen().used.clone();
        let sent = self.seen().sent.clone();
        for _ in 0..1000 {
            let entered = client
                .core()
                .with_queue(&self.name, |it| it.enter(&want, &somebody()));
            let Ok(hold) = entered.unwrap().unwrap().await else {
                break;
            };
            found.extend(hold.grant.signal.clone());
            hold.release(false);
        }
        let lost: Vec<_> = sent.iter().filter(|text| !found.contains(text)).collect();
        assert!(lost.is_empty(), "lost signals: {lost:?}");
        let twice = self.calm && found.len() > sent.len();
        assert!(!twice, "a signal came twice: {found:?}");
    }
}

fn runs(calm: bool) {
    let number = std::env::var("AUTO_MUTEX_RUNS");
    let seeds = number.map_or(80, |number| number.parse().unwrap());
    let tally = Arc::new(Tally::default());
    test_kit::run(Runs::new().seeds(seeds), |world| {
        Arc::new(Run::new(world, calm)).all(tally.clone())
    });
    println!("{tally:?}");
    let counted = |count: &AtomicU32| count.load(Ordering::Relaxed) > 0;
    assert!(tally.iter().all(counted), "{tally:?}");
}

#[test]
fn whatever_the_network_does_one_holds_and_all_are_served() {
    runs(false);
}

#[test]
fn whatever_the_order_nothing_is_lost() {
    runs(true);
}
