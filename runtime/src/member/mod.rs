//! [`ClientCore`]: one client in one process, as its locks see it.
//!
//! It knows the store, the settings, the names in use ([`Registry`]), when each of them needs attention ([`Timers`]),
//! and whether the store can be reached ([`Links`]). It passes answers and messages to the queue of their name, which
//! it knows only as a [`NameQueue`]. The engine owns the thread that runs all this.

mod caller;
mod deadlocks;
mod links;
mod machine;
mod name_queue;
mod registry;
mod repeated;
mod timers;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

pub(crate) use self::caller::Caller;
use self::links::Links;
pub(crate) use self::name_queue::{HeldName, Load, NameQueue};
use self::registry::Registry;
use self::repeated::Repeated;
pub(crate) use self::timers::NAP;
use self::timers::Timers;
use crate::clock::Instant;
use crate::config::Settings;
use crate::deadlock::Detector;
use crate::error::{LockError, StoreError};
use crate::name::Name;
use crate::observe::{Metric, SharedObserver};
use crate::order::LockOrder;
use crate::process::{self, EndsWithProcess};
use crate::store::{Answer, Events, GrantBlock, Message, Node, Op, Request, RequestId, Store};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, PoisonError};
use crate::wait::{self, lock};

const OPEN: u8 = 0;
/// The client takes no new locks. Bodies continue, and may take nested locks.
const DRAINING: u8 = 1;
const CLOSING: u8 = 2;
const CLOSED: u8 = 3;

/// How often a draining client checks whether any lock is held.
const LOOK: Duration = Duration::from_millis(5);

/// One client in one process.
pub(crate) struct ClientCore<Q> {
    id: u64,
    settings: Settings,
    store: Arc<dyn Store>,
    register: Registry<Q>,
    links: Links,
    timers: Timers<Q>,
    detector: Detector,
    /// The requests of the detector that have no answer yet, with their rounds.
    inspections: Mutex<HashMap<RequestId, u64>>,
    /// Limits the warnings about failed renewals and releases.
    pub(crate) failed_renewals: Repeated,
    pub(crate) failed_releases: Repeated,
    /// Limits the warnings about calls that gave up.
    pub(crate) timeouts: Repeated,
    phase: AtomicU8,
    /// The last handle of the client was dropped.
    orphaned: AtomicBool,
    /// The process is ending.
    ending: AtomicBool,
    /// The engine, while it runs.
    engine: Mutex<Option<Waker>>,
    requests: AtomicU64,
    forks: u32,
    /// The machine, encoded for the store.
    machine: String,
    pid: u32,
    /// In which order its locks are taken.
    order: LockOrder,
    /// Notified when a name is no longer in use.
    emptied: (Mutex<()>, Condvar),
}

impl<Q: NameQueue> ClientCore<Q> {
    pub(crate) fn new(settings: Settings, store: Arc<dyn Store>) -> Arc<Self> {
        static IDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let (machine, pid) = (machine::machine(), std::process::id());
        Arc::new(Self {
            id,
            order: LockOrder::new(id, &settings, &machine, pid),
            detector: Detector::new(id, settings.endpoint.clone()),
            settings,
            store,
            register: Registry::default(),
            links: Links::default(),
            timers: Timers::default(),
            inspections: Mutex::default(),
            failed_renewals: Repeated::default(),
            failed_releases: Repeated::default(),
            timeouts: Repeated::default(),
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

    /// Unique in the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The machine that this process runs on, encoded for the store: see [`Meta`](crate::store::Meta).
    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// In which order its locks are taken.
    pub(crate) fn order(&self) -> &LockOrder {
        &self.order
    }

    /// A call inside a protected call asks for a lock of the class `label`, and may wait for it: see
    /// [`LockOrder::note`].
    #[inline]
    pub(crate) fn note_order<'a>(
        &self,
        label: &'static str,
        meta: &str,
        names: impl Iterator<Item = &'a Name> + Clone,
    ) {
        if self.order.note(label, meta, names) {
            self.timers.interrupt();
        }
    }

    /// Sends edges of the lock order to the store, if some are due.
    fn share_order(&self, now: Instant) {
        let mut is_sent = false;
        while let Some(op) = self.order.request(now) {
            let (name, id) = (self.order.name().clone(), self.request_id());
            match self.store.submit(Request { name, op, id }) {
                Some(answer) => self.order.answered(answer.result, now),
                None => is_sent = true,
            }
        }
        if is_sent {
            self.store.flush();
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The observer that gets the metrics, if there is one.
    #[inline]
    pub(crate) fn observer(&self) -> Option<&SharedObserver> {
        self.settings.observer.as_ref()
    }

    /// Tells the observer that the number of connected servers has changed by `change`.
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

    /// The reason why the client accepts no calls, if it does not.
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

    /// Since when and why the server of `name` cannot be reached; `None` if it can.
    pub(crate) fn outage(&self, name: &Name) -> Option<(Instant, StoreError)> {
        self.links.outage(|| self.store.node(name))
    }

    /// Why the server of `name` granted nothing recently, if so; see [`Links::closing`].
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

    /// The names in use that live at `node`.
    fn living_at(&self, node: Node) -> Vec<Arc<Q>> {
        let mut all = self.register.all();
        all.retain(|local| self.store.node(local.name()) == node);
        all
    }

    /// Runs the names that are due; returns when the next one is.
    pub(crate) fn tick(&self) -> Option<Instant> {
        // The clock is read once: a timer that is armed during this round waits for the next one, so that the engine
        // can continue with its other work.
        let now = Instant::now();
        while let Some((armed, local)) = self.timers.pop(now) {
            if !local.due(armed) {
                self.register.retire(&local);
            }
        }
        let search = self.search_for_deadlocks(now);
        self.share_order(now);
        let order = Some(self.order.due()).filter(|due| *due < Instant::NEVER);
        [self.timers.next(), search, order]
            .into_iter()
            .flatten()
            .min()
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

    /// Whether `caller` holds a lock that it took by hand.
    pub(crate) fn has_taken(&self, caller: Caller) -> bool {
        self.held().iter().any(|held| held.caller == Some(caller))
    }

    /// From now on, only running bodies get locks. All other waiters fail.
    pub(crate) fn start_draining(&self) {
        let opened = || {
            self.phase
                .compare_exchange(OPEN, DRAINING, Ordering::AcqRel, Ordering::Acquire)
        };
        if self.is_forked() || opened().is_err() {
            return;
        }
        let holders: HashSet<_> = self.held().iter().filter_map(|held| held.caller).collect();
        for local in self.register.all() {
            local.drain(&holders);
        }
    }

    /// Drains until no lock is held, until `ends` at most, or until `stop` is set and [`look`](Self::look) is called.
    /// Returns the locks that are held then.
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
            // With very many names, a check takes long: the checks must not become the main work of the process.
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

    /// Releases all locks, refuses new ones, and waits up to `limit` for the store to answer. `false`: a release was
    /// not answered; the hold will end with its lease.
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

    /// Waits for the store to answer, until `ends` at most. `false`: a release was not answered.
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

    /// Whether this client holds nothing, waits for nothing, and has no release without an answer.
    pub(crate) fn is_flushed(&self) -> bool {
        self.register.all().iter().all(|local| local.is_done())
    }

    /// Lets the engine end.
    pub(crate) fn close(&self) {
        self.phase.store(CLOSED, Ordering::Release);
        self.timers.interrupt();
    }

    /// Whether the process ends.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Sets the waker of the engine; `None`: the engine has ended. The engine checks [`is_ending`](Self::is_ending)
    /// after this call.
    pub(crate) fn set_engine(&self, engine: Option<Waker>) {
        *lock(&self.engine) = engine;
    }

    /// The engine has ended: fails everything that waits for it.
    pub(crate) fn abandon(&self) {
        self.phase.store(CLOSED, Ordering::Release);
        for local in self.register.close() {
            local.abandon();
        }
        self.timers.clear();
        self.timers.interrupt();
        self.note_servers(self.links.all_gone());
    }

    /// Whether the engine may end: the client was shut down, or has neither handles nor holds.
    pub(crate) fn is_closed(&self) -> bool {
        self.phase.load(Ordering::Acquire) == CLOSED
            || self.orphaned.load(Ordering::Acquire)
                && self.register.all().iter().all(|local| local.is_over())
    }

    /// The last handle of the client was dropped. Its holds stay; once none is left, the engine ends.
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
        // If the mutex is locked, the engine is starting or has ended. In both cases it checks the flag after it
        // unlocks the mutex.
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

impl<Q: NameQueue> Events for ClientCore<Q> {
    fn answered(&self, answer: Answer) {
        if let Op::Order { .. } = answer.request.op {
            self.order.answered(answer.result, Instant::now());
            return self.timers.interrupt();
        }
        if self.takes_for_search(&answer) {
            return;
        }
        // A missing queue was retired, so nothing waits for the answer.
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

    fn connected(&self, node: Node, generation: u64) {
        self.note_servers(self.links.up(node));
        if generation > 1 {
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

// A panic in user code cannot leave a client inconsistent: no user code runs inside it.
impl<Q> std::panic::UnwindSafe for ClientCore<Q> {}
impl<Q> std::panic::RefUnwindSafe for ClientCore<Q> {}

impl<Q> std::fmt::Debug for ClientCore<Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
