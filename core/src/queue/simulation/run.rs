//! One run: the hosts, the faults, and the checks.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::Tally;
use super::call::plain;
use crate::base::clock::Instant;
use crate::base::error::kind::RW_LOCK;
use crate::base::name::Name;
use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::locks::client::Client;
use crate::queue::{Hold, Patience};
use crate::store::{Op, Reply, Share, TicketRecord};
use crate::test_kit::{Running, World};

const STEPS: u32 = 150;

pub(super) struct Seen {
    pub(super) last_token: u64,
    /// Until when the store keeps the ticket of the last released hold, because of its `at_least`.
    pub(super) kept_until: Instant,
    /// What the callers have, each with its host.
    holds: Vec<(usize, Arc<Hold>)>,
    /// The signals that were added, and those that a caller has used.
    pub(super) sent: HashSet<Arc<str>>,
    pub(super) used: Vec<Arc<str>>,
}

pub(super) struct Run {
    world: World,
    /// Requests, replies and messages are reordered, but no connection breaks and no member dies.
    pub(super) calm: bool,
    pub(super) tally: Arc<Tally>,
    pub(super) name: Name,
    shape: Shape,
    /// The budget of local handoffs: how many, and for how long.
    handoff: (u32, Duration),
    seen: Mutex<Seen>,
    over: Notify,
    is_over: AtomicBool,
}

/// The kind of lock that the name has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Mutex,
    /// A semaphore with this number of permits.
    Semaphore(u32),
    ReadersWriter,
}

impl Run {
    pub(super) fn new(world: World, calm: bool, tally: Arc<Tally>) -> Self {
        let shape = match world.random(4) {
            0 | 1 => Shape::Mutex,
            2 => Shape::Semaphore(world.random(4) as u32),
            _ => Shape::ReadersWriter,
        };
        let handoff = [
            (100, Duration::from_millis(5)),
            (0, Duration::ZERO),
            (3, Duration::from_secs(20)),
        ][world.random(3) as usize];
        Self {
            world,
            calm,
            tally,
            name: Name::from_escaped("sim:name"),
            shape,
            handoff,
            seen: Mutex::new(Seen {
                last_token: 0,
                kept_until: Instant::START,
                holds: Vec::new(),
                sent: HashSet::new(),
                used: Vec::new(),
            }),
            over: Notify::new(),
            is_over: false.into(),
        }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    pub(super) fn below(&self, options: u64) -> u64 {
        self.world.random(options)
    }

    /// `false` is the usual case.
    pub(super) fn one_in(&self, options: u64) -> bool {
        self.below(options) == options - 1
    }

    pub(super) fn millis(&self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }

    fn some_time(&self) -> Duration {
        let spans = [1, 10, 100, 700, 2500];
        let span = self.below(if self.calm { 2 } else { 5 });
        self.millis(0, spans[span as usize])
    }

    /// Waits for less than one of these numbers of milliseconds, and no longer than the run.
    pub(super) async fn pause<const N: usize>(&self, choices: [u64; N]) {
        let most = choices[self.below(N as u64) as usize];
        let time = self.millis(0, most);
        if !self.is_over.load(Ordering::Relaxed) {
            let _ = timeout(time, self.over.notified()).await;
        }
    }

    pub(super) fn share(&self) -> Share {
        match self.shape {
            Shape::Mutex => Share::of(1, 1),
            Shape::Semaphore(permits) => {
                let units = 1 + self.below(u64::from(permits.max(1)));
                Share::permits(units as u32, permits)
            }
            Shape::ReadersWriter => Share::of([1, RW_LOCK][self.below(2) as usize], RW_LOCK),
        }
    }

    pub(super) fn is_writer(&self, hold: &Hold) -> bool {
        self.shape == Shape::ReadersWriter && hold.is_exclusive()
    }

    /// A caller that asked when `before` was the greatest token has `hold`.
    pub(super) fn obtained(&self, host: usize, hold: &Arc<Hold>, before: u64) {
        let token = hold.grant.token;
        let mut seen = self.seen();
        let handed = token % 1024;
        assert!(handed <= u64::from(self.handoff.0), "handed on too often");
        // When several callers get the lock at once, a later grant may be noticed first.
        let mut before = before;
        if self.shape == Shape::Mutex {
            before = seen.last_token;
            let kept = self.calm && Instant::now() < seen.kept_until;
            assert!(
                !kept,
                "obtained before `at_least` of the one before was over"
            );
        }
        assert!(token > before, "the fencing token did not grow");
        seen.last_token = seen.last_token.max(token);
        seen.holds.retain(|(_, hold)| hold.is_valid());
        let signal = hold.grant.signal.as_ref();
        let others = seen.holds.iter().map(|(_, other)| &other.grant.signal);
        let doubled = signal.is_some() && others.into_iter().any(|it| it.as_ref() == signal);
        assert!(!doubled, "a signal in two hands");
        seen.holds.push((host, hold.clone()));
        self.tally.served.fetch_add(1, Ordering::Relaxed);
        let handed = u32::from(handed > 0);
        self.tally.handed.fetch_add(handed, Ordering::Relaxed);
    }

    fn join(&self, number: usize) -> Client {
        let config = self.world.config(&format!("h{number}"));
        let config = config.lease("10s").store_timeout("1000s");
        let (times, time) = self.handoff;
        Client::connect(config.local_handoff(times, time)).unwrap()
    }

    pub(super) async fn all(self: Arc<Self>) {
        let mut hosts: Vec<_> = (0..3).map(|number| self.join(number)).collect();
        let mut alive: Vec<_> = (0..3).collect();
        let mut work: Vec<Running<()>> = Vec::new();
        for _ in 0..STEPS {
            let which = self.below(alive.len() as u64) as usize;
            let host = alive[which];
            let client = &hosts[host];
            match self.below(if self.calm { 11 } else { 20 }) {
                0..=4 => {
                    let call = self.clone().call(host, client.core().clone());
                    work.push(self.world.on(client, call));
                }
                5 if matches!(self.shape, Shape::Semaphore(_)) => {
                    let signal = self.clone().signal(client.core().clone());
                    work.push(self.world.on(client, signal));
                }
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
    async fn settle(
        self: &Arc<Self>,
        hosts: &[Client],
        alive: &[usize],
        mut work: Vec<Running<()>>,
    ) {
        drop(self.world.delay(Duration::ZERO));
        for host in alive {
            drop(self.world.resume(&hosts[*host]));
            drop(self.world.reconnect(&hosts[*host]));
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.over.notify_waiters();
        if self.shape == Shape::Semaphore(0) {
            let last = &hosts[alive[0]];
            let signals = (0..work.len()).map(|_| self.clone().signal(last.core().clone()));
            work.extend(
                signals
                    .map(|signal| self.world.on(last, signal))
                    .collect::<Vec<_>>(),
            );
        }
        let started = self.world.now();
        for work in work {
            let ended = timeout(Duration::from_secs(100), work.outcome()).await;
            assert!(ended.is_ok(), "somebody waits for ever");
        }
        let took = self.world.now() - started;
        // The last copies of requests arrive. Then only the tickets of crashed members are left, until their leases end.
        self.world.advance(Duration::from_secs(6)).await;
        let last = self.join(hosts.len());
        let holders = self.holders(&last).await;
        if hosts.len() == alive.len() {
            assert!(took < Duration::from_secs(8), "it took {took:?}");
            assert!(holders.is_empty(), "nobody wants it: {holders:?}");
        }
        self.world.advance(Duration::from_secs(34)).await;
        self.world.assert_no_overlap();
        self.world.assert_all_released();
        self.check_signals(&last).await;
        self.world.advance(Duration::from_secs(31)).await;
        self.holders(&last).await;
        assert_eq!(self.world.left_in_store(), [""; 0]);
    }

    async fn holders(&self, client: &Client) -> Vec<TicketRecord> {
        let op = Op::Inspect { above: 0 };
        let asked = client
            .core()
            .with_queue(&self.name, |queue| queue.query(&op));
        match asked.unwrap().wait().await {
            Ok(Reply::Info(record)) => record.holders,
            other => panic!("{other:?}"),
        }
    }

    /// Checks that every signal was taken or is still available, and, without faults, that none was taken twice.
    async fn check_signals(&self, client: &Client) {
        let want = plain(Share::NOTIFICATION, Patience::NONE);
        let mut found = self.seen().used.clone();
        let sent = self.seen().sent.clone();
        for _ in 0..1000 {
            let entered = client
                .core()
                .with_queue(&self.name, |queue| queue.enter(&want));
            let Ok(hold) = entered.unwrap().unwrap().await else {
                break;
            };
            found.extend(hold.grant.signal.clone());
            hold.release(false);
        }
        for text in &sent {
            assert!(found.contains(text), "the signal {text} is lost");
        }
        if self.calm {
            assert_eq!(found.len(), sent.len(), "a signal came twice");
        }
    }
}
