//! [`ClientCore`]: the part of a client that all its locks share.
//!
//! A client has the store, the settings, the names in use ([`Registry`]), the times when they need attention
//! ([`Timers`]), and the state of the connections ([`Links`]). It passes answers and messages to the queue of their
//! name, through the trait [`NameQueue`]. The engine owns the thread that runs all this.

mod deadlocks;
mod links;
mod machine;
mod name_queue;
mod registry;
mod timers;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use self::links::Links;
pub(crate) use self::name_queue::{HeldName, Load, NameQueue};
use self::registry::Registry;
pub(crate) use self::timers::NAP;
use self::timers::Timers;
use crate::clock::Instant;
use crate::config::Settings;
use crate::deadlock::Detector;
use crate::error::{LockError, StoreError};
use crate::exit::EndsWithProcess;
use crate::name::Name;
use crate::observer::{Metric, SharedObserver};
use crate::order::LockOrder;
use crate::process;
use crate::store::{Answer, Events, GrantBlock, Message, Meta, Node, RequestId, SharedStr, Store};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, PoisonError};
use crate::task::TaskId;
use crate::wait::{self, Limit, lock};

const OPEN: u8 = 0;
/// The client takes no new locks. Bodies continue, and may take nested locks.
const DRAINING: u8 = 1;
const CLOSING: u8 = 2;
const CLOSED: u8 = 3;

/// The pause between two warnings that many locks may cause at the same time.
const REPEATED: Duration = Duration::from_secs(1);

/// How often a draining client checks whether any lock is held.
const LOOK: Duration = Duration::from_millis(5);

/// One client in one process.
pub(crate) struct ClientCore<Q> {
    id: u64,
    settings: Settings,
    store: Arc<dyn Store>,
    register: Registry<Q>,
    links: Links,
    /// Whether the weaknesses of the store were logged.
    has_warned: AtomicBool,
    timers: Timers<Q>,
    detector: Detector,
    /// The inspections for the detector that have no answer yet, each with the round of its search.
    inspections: Mutex<HashMap<RequestId, u64>>,
    /// Limits the warnings about failed renewals and releases.
    pub(crate) failed_renewals: Limit,
    pub(crate) failed_releases: Limit,
    /// Limits the warnings about calls that gave up.
    pub(crate) timeouts: Limit,
    phase: AtomicU8,
    /// The last clone of the `Client` was dropped.
    orphaned: AtomicBool,
    /// The process is ending.
    ending: AtomicBool,
    /// The waker of the engine, while the engine runs.
    engine: Mutex<Option<Waker>>,
    requests: AtomicU64,
    forks: u32,
    /// The machine, encoded for the store.
    machine: String,
    pid: u32,
    /// The order in which the client's locks are taken.
    order: LockOrder,
    /// Notified when a drain or a shutdown should check again whether any lock is held.
    emptied: (Mutex<()>, Condvar),
}

impl<Q: NameQueue> ClientCore<Q> {
    pub(crate) fn new(settings: Settings, store: Arc<dyn Store>) -> Arc<Self> {
        static IDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let (machine, pid) = (machine::machine(), std::process::id());
        Arc::new(Self {
            id,
            order: LockOrder::new(id, settings.allowed_orders.clone()),
            detector: Detector::new(id, settings.engine.clone()),
            has_warned: AtomicBool::new(!settings.lazily),
            settings,
            store,
            register: Registry::default(),
            links: Links::default(),
            timers: Timers::default(),
            inspections: Mutex::default(),
            failed_renewals: Limit::every(REPEATED),
            failed_releases: Limit::every(REPEATED),
            timeouts: Limit::every(REPEATED),
            phase: AtomicU8::new(OPEN),
            orphaned: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            engine: Mutex::default(),
            requests: AtomicU64::new(1),
            forks: process::forks(),
            machine,
            pid,
            emptied: Default::default(),
        })
    }

    /// The id of the client, unique in the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A text that identifies a caller of this process at `site`, without an owner: see [`Meta`].
    pub(crate) fn meta(&self, site: &str) -> SharedStr {
        Meta::write(&self.machine, self.pid, site)
    }

    /// The order in which the client's locks are taken.
    pub(crate) fn order(&self) -> &LockOrder {
        &self.order
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The observer that gets the metrics, if there is one.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&SharedObserver> {
        self.settings.observer.as_ref()
    }

    /// Reports to the observer that the number of connected servers has changed by `change`.
    fn note_servers(&self, change: i64) {
        if change != 0
            && let Some(observer) = self.observer()
        {
            let observer = observer.clone();
            wait::observe(Box::new(move || {
                observer.add(Metric::StoreConnected, &[], change);
            }));
        }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(crate) fn timers(&self) -> &Timers<Q> {
        &self.timers
    }

    pub(crate) fn request_id(&self) -> RequestId {
        RequestId(self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether this process is a fork of the one that made the client. The engine's thread and the connection exist
    /// only in the parent.
    pub(crate) fn is_forked(&self) -> bool {
        self.forks != process::forks()
    }

    /// Whether the client accepts new locks.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.is_forked() && self.phase.load(Ordering::Acquire) == OPEN
    }

    /// Whether the client accepts only calls of running bodies.
    pub(crate) fn is_draining(&self) -> bool {
        self.phase.load(Ordering::Acquire) == DRAINING
    }

    /// Returns an error if the client accepts no calls, not even calls of running bodies.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), LockError> {
        if !self.is_forked() && self.phase.load(Ordering::Acquire) <= DRAINING {
            return Ok(());
        }
        Err(match self.is_forked() {
            true => LockError::Forked,
            false => LockError::ShutDown,
        })
    }

    /// The start and the cause of the outage of the server of `name`; `None` if the server can be reached.
    pub(crate) fn outage(&self, name: &Name) -> Option<(Instant, StoreError)> {
        self.links.outage(|| self.store.node(name))
    }

    /// The [`GrantBlock`] of the server of `name`, if there is one: see [`Links::closing`].
    pub(crate) fn closing(&self, name: &Name) -> Option<GrantBlock> {
        self.links.closing(|| self.store.node(name))
    }

    /// Runs one transition on the local queue of `name`. If the queue was retired before the transition began, runs
    /// it on a new queue.
    pub(crate) fn with_queue<T>(
        self: &Arc<Self>,
        name: &Name,
        mut run: impl FnMut(&Arc<Q>) -> Option<T>,
    ) -> Result<T, LockError> {
        loop {
            self.check()?;
            let make = || Q::new(name.clone(), self.clone());
            let Some(local) = self.register.get(name, make) else {
                return Err(LockError::ShutDown);
            };
            if let Some(result) = run(&local) {
                return Ok(result);
            }
        }
    }

    /// The queues of the names that are stored at `node`.
    fn living_at(&self, node: Node) -> Vec<Arc<Q>> {
        let mut all = self.register.all();
        all.retain(|local| self.store.node(local.name()) == node);
        all
    }

    /// Runs everything that is due: queues, and searches for deadlocks. Returns when something is due next.
    pub(crate) fn tick(&self) -> Option<Instant> {
        // The clock is read once: a timer that is armed during this round waits for the next round, so that the engine
        // can continue with its other work.
        let now = Instant::now();
        while let Some((armed, local)) = self.timers.pop(now) {
            if !local.due(armed) {
                self.register.retire(&local);
            }
        }
        let search = self.search_for_deadlocks(now);
        [self.timers.next(), search].into_iter().flatten().min()
    }

    /// The state of the connections.
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// Counts the holds and waiters. Visits each name.
    pub(crate) fn load(&self) -> Load {
        let names = self.register.all();
        let loads = names.iter().map(|local| local.load());
        loads.fold(Load::default(), Load::and)
    }

    /// All holds of this client.
    pub(crate) fn held(&self) -> Vec<HeldName> {
        let names = self.register.all();
        names.iter().flat_map(|local| local.held()).collect()
    }

    /// Whether `task` holds a lock that it took by hand.
    pub(crate) fn has_taken(&self, task: TaskId) -> bool {
        self.held().iter().any(|held| held.taken_by == Some(task))
    }

    /// Starts to drain: from now on, only running bodies get locks, and all other waiters fail.
    pub(crate) fn start_draining(&self) {
        let opened = || {
            self.phase
                .compare_exchange(OPEN, DRAINING, Ordering::AcqRel, Ordering::Acquire)
        };
        if self.is_forked() || opened().is_err() {
            return;
        }
        let holders: HashSet<_> = self
            .held()
            .iter()
            .filter_map(|held| held.taken_by)
            .collect();
        for local in self.register.all() {
            local.drain(&holders);
        }
    }

    /// Drains until no lock is held, but at most until `ends`. The drain also ends when `stop` is set;
    /// [`look`](Self::look) makes it check this at once. Returns the locks that are still held.
    pub(crate) fn drain(&self, ends: Instant, stop: &AtomicBool) -> Vec<HeldName> {
        self.start_draining();
        let mut guard = lock(&self.emptied.0);
        loop {
            let now = Instant::now();
            let left = match self.check() {
                Ok(()) => self.held(),
                // The client was shut down during the drain.
                Err(_) => Vec::new(),
            };
            if left.is_empty() || ends <= now || stop.load(Ordering::Acquire) {
                return left;
            }
            // With very many names, a check takes long. The pause grows with the time of a check, so that the checks do
            // not become the main work of the process.
            let looked = now.until(Instant::now());
            let nap = LOOK.max(looked * 4).min(now.until(ends));
            guard = self
                .emptied
                .1
                .wait_timeout(guard, nap)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Makes [`drain`](Self::drain) check again.
    pub(crate) fn look(&self) {
        self.emptied.1.notify_all();
    }

    /// Releases all locks, refuses new ones, and waits up to `limit` for the store to answer. Returns `false` if a
    /// release was not answered; that hold ends with its lease.
    pub(crate) fn shut_down(&self, limit: Duration) -> bool {
        self.start_closing();
        self.finish_closing(Instant::now().after(limit))
    }

    /// Releases all locks and refuses new ones.
    pub(crate) fn start_closing(&self) {
        if self.is_forked() {
            return;
        }
        self.phase.fetch_max(CLOSING, Ordering::AcqRel);
        for local in self.register.all() {
            local.close();
        }
    }

    /// Waits for the store to answer, at most until `ends`. Returns `false` if a release was not answered.
    pub(crate) fn finish_closing(&self, ends: Instant) -> bool {
        if self.is_forked() {
            return true;
        }
        let mut guard = lock(&self.emptied.0);
        let flushed = loop {
            if self.is_flushed() {
                break true;
            }
            let left = Instant::now().until(ends);
            if left.is_zero() || self.phase.load(Ordering::Acquire) == CLOSED {
                break false;
            }
            // Checks periodically as well, because an answer may come between the check and the wait.
            let nap = left.min(LOOK);
            guard = self
                .emptied
                .1
                .wait_timeout(guard, nap)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        };
        drop(guard);
        self.close();
        flushed
    }

    /// Whether this client has no holds, no waiters, and no unanswered releases.
    pub(crate) fn is_flushed(&self) -> bool {
        self.register.all().iter().all(|local| local.is_done())
    }

    /// Lets the engine end.
    pub(crate) fn close(&self) {
        self.phase.store(CLOSED, Ordering::Release);
        self.timers.interrupt();
    }

    /// Whether the process is ending.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Sets the waker of the engine; `None`: the engine has ended. An engine that starts checks
    /// [`is_ending`](Self::is_ending) after this call.
    pub(crate) fn set_engine(&self, engine: Option<Waker>) {
        *lock(&self.engine) = engine;
    }

    /// Called when the engine has ended: fails everything that waits for the store.
    pub(crate) fn abandon(&self) {
        self.phase.store(CLOSED, Ordering::Release);
        for local in self.register.close() {
            local.abandon();
        }
        self.timers.clear();
        self.timers.interrupt();
        self.note_servers(self.links.all_gone());
    }

    /// Whether the engine may end: the client was shut down, or its last clone was dropped and no lock is held.
    pub(crate) fn is_closed(&self) -> bool {
        self.phase.load(Ordering::Acquire) == CLOSED
            || self.orphaned.load(Ordering::Acquire)
                && self.register.all().iter().all(|local| local.is_over())
    }

    /// Called when the last clone of the `Client` was dropped. The holds stay; once none is left, the engine ends.
    pub(crate) fn orphan(&self) {
        if self.is_forked() {
            return;
        }
        self.orphaned.store(true, Ordering::Release);
        self.timers.interrupt();
    }
}

impl<Q: NameQueue> EndsWithProcess for ClientCore<Q> {
    /// Makes the engine release everything and end.
    fn end(&self) {
        if self.is_forked() {
            return;
        }
        self.ending.store(true, Ordering::SeqCst);
        // If the mutex is locked, the engine is in `set_engine`. An engine that starts checks the flag after that call,
        // and an engine that has ended needs no waking.
        if let Ok(engine) = self.engine.try_lock()
            && let Some(engine) = &*engine
        {
            engine.wake_by_ref();
        }
    }

    fn has_ended(&self) -> bool {
        self.is_forked() || self.phase.load(Ordering::Acquire) == CLOSED
    }

    fn let_bodies_end(&self) {
        self.start_draining();
    }

    fn bodies(&self) -> Vec<String> {
        match self.is_forked() {
            true => Vec::new(),
            false => self.held().iter().map(HeldName::to_string).collect(),
        }
    }
}

impl<Q> ClientCore<Q> {
    /// Logs the weaknesses of a store that was not connected at set-up (`connect_lazily`), once they are known.
    fn warn_later(&self) {
        if self.has_warned.load(Ordering::Relaxed) {
            return;
        }
        let guarantees = self.store.guarantees();
        if guarantees.are_known() {
            self.has_warned.store(true, Ordering::Relaxed);
            wait::tell(move || guarantees.warn());
        }
    }
}

impl<Q: NameQueue> Events for ClientCore<Q> {
    fn answered(&self, answer: Answer) {
        if self.takes_for_search(&answer) {
            return;
        }
        // If there is no queue, it was retired, so nothing waits for the answer.
        if let Some(local) = self.register.find(&answer.request.name) {
            local.answered(answer);
            if self.phase.load(Ordering::Acquire) != OPEN {
                self.emptied.1.notify_all();
            }
        }
    }

    fn told(&self, name: &Name, message: Message) {
        if let Message::Probe { from, text } = &message {
            return self.probed(name, *from, text);
        }
        if let Some(local) = self.register.find(name) {
            local.told(&message);
        }
    }

    fn connected(&self, node: Node, again: bool) {
        self.note_servers(self.links.up(node));
        self.warn_later();
        if again {
            for local in self.living_at(node) {
                local.reconnected();
            }
        }
    }

    fn disconnected(&self, node: Node, error: StoreError) {
        self.note_servers(self.links.down(node, error));
        for local in self.living_at(node) {
            local.disconnected();
        }
    }

    fn closed(&self, node: Node, closing: Option<GrantBlock>) {
        self.links.closed(node, closing);
    }

    fn still_disconnected(&self, node: Node, error: StoreError) {
        self.links.still_down(node, error);
    }

    fn gone(&self, node: Node) {
        self.note_servers(self.links.gone(node));
        self.links.closed(node, None);
    }
}

// A panic in user code cannot leave a client inconsistent, because the client runs no user code.
impl<Q> std::panic::UnwindSafe for ClientCore<Q> {}
impl<Q> std::panic::RefUnwindSafe for ClientCore<Q> {}

impl<Q> std::fmt::Debug for ClientCore<Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
