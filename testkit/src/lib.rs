//! The test kit: a [`World`] of hosts, a network and a lock store in one thread, in virtual time, with faults on
//! demand.
//!
//! `#[auto_mutex::test]` runs an async function in a World, once for each seed. The seed decides what real machines
//! leave to chance: the order of tasks and messages, and how much a fault destroys. The locks are the real ones, with
//! the real client; only the network and the store's process are simulated, and the store has the rules that every
//! engine is compared with.
//!
//! ```
//! use std::time::Duration;
//! use auto_mutex::test::{Runs, World};
//! use auto_mutex::{LockError, auto_mutex};
//!
//! #[auto_mutex(name = "close", block = 10)]
//! async fn close() -> Result<(), LockError> {
//!     tokio::time::sleep(Duration::from_secs(60)).await;
//!     Ok(())
//! }
//!
//! // With the attribute: #[auto_mutex::test(seeds = 20)]
//! auto_mutex::test::run(Runs::new().seeds(20), |world: World| async move {
//!     let (a, b) = (world.client("a"), world.client("b"));
//!     let first = world.on(&a, close());
//!     world.idle().await;
//!     let second = world.on(&b, close());
//!     world.advance(Duration::from_secs(10)).await;
//!     assert!(second.await.unwrap_err().is_timeout());
//!
//!     world.failover();
//!     first.await.unwrap();
//!     world.assert_no_overlap();
//!     world.assert_all_released();
//! });
//! ```
//!
//! # Time
//!
//! The locks and tokio have one clock, which stands still while any task can run, and then jumps to the next timer. So
//! `block = 10` takes ten seconds of virtual time, and no real time. [`World::advance`] lets time go on, and fires all
//! that falls due in order.
//!
//! In a runtime that isn't paused, as that of `#[sqlx::test]`, [`World::new`] pauses it and holds the time: it moves by
//! [`World::advance`] only. When the last clone of the World is dropped, the clock runs again.
//!
//! What takes real time is declared: [`World::real_time`] for sockets, [`World::blocking`] for blocking code.
//! Undeclared sockets, signals and child processes panic. (In a runtime of another attribute they don't: there, hold
//! the time.) The code under test may read the real clock, but then it sees another time than the locks.
//!
//! # Limits
//!
//! A test that would never end fails, and says who holds and waits for what: after six hours of virtual time without
//! [`World::advance`], after 200,000 steps at one time, or if time is held and nothing happens for 30 real seconds.
//!
//! # Seeds
//!
//! A failed run prints its seed and its last events. `AUTO_MUTEX_SEED=17 cargo test name` runs this seed alone, with
//! the same events in the same order. With [`Runs::shrink`], the failed run is repeated with fewer unusual choices, and
//! the shortest schedule that fails is printed as well. `AUTO_MUTEX_SEEDS=1000` runs so many seeds, from
//! `AUTO_MUTEX_SEED_START` on, a number or `random`.
//!
//! The first seed runs twice, and the test fails if the events differ: code that draws random numbers of its own, as
//! tokio's `select!` without `biased;` does, can't be repeated. [`Runs::repeatable`] turns that off.
//!
//! # Panics
//!
//! A panic of what a host runs fails the test, also if nobody awaits it, with the name of the host.
//!
//! # Beside the World
//!
//! - [`assert_held!`](auto_mutex_core::assert_held), in code that must never run without its lock.
//! - [`Register`], in place of a database that checks fencing tokens.
//! - [`skip_locks`], for tests of handlers whose locks don't matter: bodies run at once, without a store.
//! - [`coverage`], the faults that no test has tried.
//!
#![doc = include_str!("table.md")]

mod beside;
mod choices;
mod clock;
mod endpoint;
mod events;
mod fault;
mod faults;
mod forger;
mod gate;
mod limits;
mod member;
mod register;
mod runs;
mod server;
mod skip;
#[cfg(all(test, repository))]
mod tests;
mod world;

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use self::endpoint::Endpoint;
pub use self::events::{Event, Happening};
pub use self::fault::{Fault, Operation, coverage};
pub use self::faults::{Struck, Target};
pub use self::gate::Running;
pub use self::register::{Register, Stale};
pub use self::runs::{Outcome, Runs, run, run_blocking};
pub use self::skip::skip_locks;
use self::world::Shared;
pub use auto_mutex_core::assert_held;
use auto_mutex_core::hook::{Turn, block_on, pause};
use auto_mutex_core::store::{lock, time_of};
use auto_mutex_core::{Client, Config};
pub use auto_mutex_protocol::StoreErrorKind;

/// How often all tasks get their turn before nothing is left to do.
const ROUNDS: usize = 24;

/// Hosts, a network and a lock store in one thread, in virtual time.
///
/// See the [module](self) for an example. All clones are the same World. Methods with a client panic if it is not one
/// of this World.
#[derive(Clone)]
pub struct World(Arc<Shared>);

/// A lock that another host holds: see [`World::hold_elsewhere`].
#[derive(Debug)]
pub struct Elsewhere(World, usize);

impl World {
    /// A World in the tokio runtime of this thread, which must have one thread.
    ///
    /// Use `#[auto_mutex::test]` where you can. This is for tests that another attribute starts, such as
    /// `#[sqlx::test]`; time is held then, and moves by [`advance`](Self::advance) only. Outside of a runtime, it is
    /// for simulators whose hosts have a runtime each: make the World first, and its clients in the hosts.
    ///
    /// # Panics
    ///
    /// If the runtime has several threads.
    #[expect(
        clippy::new_without_default,
        reason = "it takes over the runtime's clock"
    )]
    #[must_use]
    pub fn new() -> Self {
        Self::with_seed(0)
    }

    /// Like [`new`](Self::new), with another order of events.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self(Shared::new(&choices::Schedule { seed, only: None }))
    }

    /// The configuration of a client on the host `host`: the store of this World. Change its options, then call
    /// [`Client::connect`], which returns at once.
    pub fn config(&self, host: &str) -> Config {
        Config::at(Arc::new(Endpoint {
            host: host.to_owned(),
            world: Arc::downgrade(&self.0),
        }))
    }

    /// A client on the host `host`. Each has its own process; nothing of it is global. If the store is away, it
    /// connects as soon as the store is back.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn client(&self, host: &str) -> Client {
        Client::connect(self.config(host)).expect("a World has no bad options")
    }

    /// Runs `future` on the host of `client`, as a task in the scope of the client. It starts when the test awaits
    /// anything.
    ///
    /// Tasks that the future spawns with `tokio::spawn` are on no host, as they are in no scope: spawn them with this.
    pub fn on<F>(&self, client: &Client, future: F) -> Running<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        gate::spawn(&self.member(client), client.scope(future))
    }

    /// Runs blocking code on the host of `client`, on a thread of its own that takes turns with the tasks. Waits for
    /// locks take virtual time, and so does [`sleep`](fn@sleep); `std::thread::sleep` and other blocking calls stop the
    /// whole World.
    pub fn thread<T: Send + 'static>(
        &self,
        client: &Client,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Running<T> {
        let scoped = client.clone();
        let turn = Turn::new(move || scoped.blocking_scope(work));
        gate::spawn(&self.member(client), turn)
    }

    /// Takes the mutex with this complete name on another host, waiting for it if needed. The World keeps it until
    /// [`Elsewhere::release`], or to the end.
    ///
    /// For other kinds of locks, use a client of another host.
    ///
    /// # Panics
    ///
    /// If the lock is not free within an hour of virtual time.
    pub async fn hold_elsewhere(&self, name: &str) -> Elsewhere {
        let client = self.elsewhere();
        let mutex = client.mutex(name).block("1h").never_expire();
        let guard = mutex.lock().await;
        let guard = guard.unwrap_or_else(|error| panic!("not held elsewhere: {error}"));
        let guards = &mut lock(&self.0.elsewhere).1;
        guards.push(Some(guard));
        Elsewhere(self.clone(), guards.len() - 1)
    }

    fn elsewhere(&self) -> Client {
        if let Some(client) = &lock(&self.0.elsewhere).0 {
            return client.clone();
        }
        let client = self.client("elsewhere");
        lock(&self.0.elsewhere).0 = Some(client.clone());
        client
    }

    /// Lets `time` pass, and fires all that falls due in order.
    pub async fn advance(&self, time: Duration) {
        let world = self.clone();
        self.beside_hosts(async move {
            *lock(&world.0.advanced) = world.now() + time;
            {
                let _goes_on = world.0.release_time();
                tokio::time::sleep(time).await;
            }
            world.0.idle(ROUNDS).await;
        })
        .await;
    }

    /// Waits until nothing is left to do at this time. On a host, it waits for all others.
    ///
    /// Tasks that the code under test spawns itself get at least two dozen turns.
    pub async fn idle(&self) {
        let world = self.clone();
        self.beside_hosts(async move { world.0.idle(ROUNDS).await })
            .await;
    }

    /// Runs `future` apart from the task of a host, whose turns would count as something to do.
    async fn beside_hosts(&self, future: impl Future<Output = ()> + Send + 'static) {
        if !gate::is_on_host() {
            future.await;
        } else if let Err(error) = tokio::spawn(future).await
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }

    /// Like [`advance`](Self::advance), for blocking code on a thread of the World.
    pub fn blocking_advance(&self, time: Duration) {
        let world = self.clone();
        self.block_on(async move { world.advance(time).await });
    }

    /// Like [`idle`](Self::idle), for blocking code on a thread of the World.
    pub fn blocking_idle(&self) {
        let world = self.clone();
        self.block_on(async move { world.idle().await });
    }

    fn block_on(&self, future: impl Future<Output = ()> + Send + 'static) {
        let runtime = self.0.runtime.as_ref().expect("a World in a runtime");
        let task = runtime.spawn(future);
        let _ = block_on(task);
    }

    /// The virtual time since the World began.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.0.clock.since_start()
    }

    /// The store's clock, which begins in January 2026 so that seeds repeat themselves. Fields such as `since` of
    /// `info` are times of this clock.
    #[must_use]
    pub fn system_time(&self) -> SystemTime {
        time_of(lock(&self.0.server).micros(self.0.clock.now()))
    }

    /// A number below `options`, which the seed decides; for a test that does different things with each seed. Make
    /// zero the usual case: [`Runs::shrink`] looks for a failing run with many zeros.
    #[must_use]
    pub fn random(&self, options: u64) -> u64 {
        self.0.below(options)
    }

    /// Everything that happened so far, in order.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        lock(&self.0.record).events.clone()
    }

    /// Checks that these events happened in this order, perhaps with others in between. Each is a part of the event's
    /// text, such as `"a granted billing:crate:close:5"`.
    ///
    /// # Panics
    ///
    /// If they did not, with all events.
    #[track_caller]
    pub fn assert_order<T: AsRef<str>>(&self, expected: impl IntoIterator<Item = T>) {
        let events: Vec<_> = self.events().iter().map(Event::to_string).collect();
        let mut left = events.iter();
        for part in expected {
            let part = part.as_ref();
            let found = left.any(|event| event.contains(part));
            assert!(found, "no `{part}` in this order:\n{}", events.join("\n"));
        }
    }

    /// Checks that no lock had more holders at any time than it allows.
    ///
    /// A lock that the test took away ([`lose`](Self::lose), [`expire_lease`](Self::expire_lease),
    /// [`force_unlock`](Self::force_unlock)) counts as free from that moment, though its body may still run. Whether
    /// such a body can still do harm, a Register shows.
    ///
    /// # Panics
    ///
    /// If it had, with the time, the name and the hosts.
    #[track_caller]
    pub fn assert_no_overlap(&self) {
        let overlaps = &lock(&self.0.record).overlaps;
        assert!(
            overlaps.is_empty(),
            "held at the same time: {}",
            overlaps.join("; ")
        );
    }

    /// Checks that no host holds a lock, apart from those of [`hold_elsewhere`](Self::hold_elsewhere) and of hosts that
    /// were killed.
    ///
    /// # Panics
    ///
    /// If one does, with the name, the time and the place in the code.
    #[track_caller]
    pub fn assert_all_released(&self) {
        let members = self.0.all_members().into_iter();
        let dead: Vec<_> = members
            .filter(|it| it.is_dead())
            .map(|it| it.host.clone())
            .collect();
        let active = lock(&self.0.record).active.clone().into_values();
        let ours = active.filter(|(host, _)| host != "elsewhere" && !dead.contains(host));
        let held: Vec<_> = ours
            .map(|(host, held)| format!("{host} holds {held}"))
            .collect();
        assert!(held.is_empty(), "still held: {}", held.join("; "));
    }
}

impl Elsewhere {
    /// Releases the lock, and lets everyone notice. Does nothing if it was lost.
    pub async fn release(self) {
        let guard = lock(&self.0.0.elsewhere).1[self.1].take();
        drop(guard);
        self.0.idle().await;
    }
}

/// Lets `time` pass, in blocking code on a [thread](World::thread) of a World.
///
/// # Panics
///
/// On any other thread.
pub fn sleep(time: Duration) {
    let slept = pause(time);
    assert!(
        slept,
        "this thread does not belong to a World: see World::thread"
    );
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

impl IntoFuture for Struck {
    type Output = ();
    type IntoFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.0.idle().await })
    }
}
