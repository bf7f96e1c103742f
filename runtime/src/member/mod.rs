//! [`ClientCore`]: one client in one process, as its locks see it.
//!
//! It knows the store, the settings, the names in use here ([`Registry`]), when to look at each of them ([`Timers`]) and
//! whether the store can be reached ([`Links`]). It passes on what the store says to the queue of the name, of which it knows
//! no more than [`NameQueue`] says. The thread that runs all this belongs to the engine.

mod links;
mod name_queue;
mod registry;
mod repeated;
mod timers;

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use self::links::Links;
pub(crate) use self::name_queue::NameQueue;
use self::registry::Registry;
use self::repeated::Repeated;
use self::timers::Timers;
use crate::clock::Instant;
use crate::config::Settings;
use crate::error::{LockError, StoreError};
use crate::name::Name;
use crate::process::{self, EndsWithProcess};
use crate::store::{Answer, Events, GrantBlock, Message, Node, RequestId, Store};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, PoisonError};
use crate::wait::lock;

const OPEN: u8 = 0;
const CLOSING: u8 = 1;
const CLOSED: u8 = 2;

/// One client in one process.
pub(crate) struct ClientCore<Q> {
    id: u64,
    settings: Settings,
    store: Arc<dyn Store>,
    register: Registry<Q>,
    links: Links,
    timers: Timers<Q>,
    /// Of renewals and of releases that fail.
    pub(crate) failed_renewals: Repeated,
    pub(crate) failed_releases: Repeated,
    phase: AtomicU8,
    /// No handle of the client is left.
    orphaned: AtomicBool,
    /// The process ends.
    ending: AtomicBool,
    /// The engine, while it runs.
    engine: Mutex<Option<Waker>>,
    requests: AtomicU64,
    forks: u32,
    host: String,
    pid: u32,
    /// Signalled when a name has nothing left.
    emptied: (Mutex<()>, Condvar),
}

impl<Q: NameQueue> ClientCore<Q> {
    pub(crate) fn new(settings: Settings, store: Arc<dyn Store>) -> Arc<Self> {
        static IDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        Arc::new(Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            settings,
            store,
            register: Registry::default(),
            links: Links::default(),
            timers: Timers::default(),
            failed_renewals: Repeated::default(),
            failed_releases: Repeated::default(),
            phase: AtomicU8::new(OPEN),
            orphaned: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            engine: Mutex::default(),
            requests: AtomicU64::new(1),
            forks: process::forks(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            pid: std::process::id(),
            emptied: Default::default(),
        })
    }

    /// Unique in the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The machine that this process runs on.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
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

    /// Whether this process is a fork of the one that made the client: its thread and its connection
    /// stayed behind.
    pub(crate) fn is_forked(&self) -> bool {
        self.forks != process::forks()
    }

    /// Whether locks can be taken.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.is_forked() && self.phase.load(Ordering::Acquire) == OPEN
    }

    /// Why no locks can be taken, if so.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), LockError> {
        if self.is_open() {
            return Ok(());
        }
        Err(match self.is_forked() {
            true => LockError::Forked,
            false => LockError::ShutDown,
        })
    }

    /// Since when the store cannot be reached where `name` lives, and why; `None` while it can.
    pub(crate) fn outage(&self, name: &Name) -> Option<(Instant, StoreError)> {
        self.links.outage(|| self.store.node(name))
    }

    /// Why nothing was granted of late where `name` lives, if that is so; see [`Links::closing`].
    pub(crate) fn closing(&self, name: &Name) -> Option<GrantBlock> {
        self.links.closing(|| self.store.node(name))
    }

    /// The local queue of `name`, for one step. Run again if it was retired in between.
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

    /// Looks at the names whose time has come; returns when to look next.
    pub(crate) fn tick(&self) -> Option<Instant> {
        // One look at the clock: what is armed for a moment later waits for the next round, so that the engine
        // gets to its other work.
        let now = Instant::now();
        while let Some((armed, local)) = self.timers.pop(now) {
            if !local.due(armed) {
                self.register.retire(&local);
            }
        }
        self.timers.next()
    }

    /// Releases everything, refuses everything new, and waits until the store has answered, for `limit` at
    /// most. `false`: something was not answered; its lease ends it.
    pub(crate) fn shut_down(&self, limit: Duration) -> bool {
        self.start_closing();
        self.finish_closing(Instant::now().after(limit))
    }

    /// Releases everything, and refuses everything new.
    pub(crate) fn start_closing(&self) {
        if self.is_forked() {
            return;
        }
        let _ = self
            .phase
            .compare_exchange(OPEN, CLOSING, Ordering::AcqRel, Ordering::Acquire);
        for local in self.register.all() {
            local.close();
        }
    }

    /// Waits until the store has answered, until `ends` at most. `false`: something was not answered.
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
            // Looked at now and then as well: an answer may come between the look and the wait.
            let nap = left.min(Duration::from_millis(5));
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

    /// Whether nothing is held, wanted or on its way out.
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

    /// How the engine is woken, whatever it waits for; `None`: it has ended. It looks at [`is_ending`](Self::is_ending)
    /// after this.
    pub(crate) fn set_engine(&self, engine: Option<Waker>) {
        *lock(&self.engine) = engine;
    }

    /// The engine is gone: nobody must wait for it any more.
    pub(crate) fn abandon(&self) {
        self.phase.store(CLOSED, Ordering::Release);
        for local in self.register.close() {
            local.abandon();
        }
        self.timers.clear();
        self.timers.interrupt();
    }

    /// Whether the engine may end: shut down, or of no use to anybody any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.phase.load(Ordering::Acquire) == CLOSED
            || self.orphaned.load(Ordering::Acquire)
                && self.register.all().iter().all(|local| local.is_over())
    }

    /// The last handle of the client is gone: locks that are held stay held, and when none is left
    /// the engine ends.
    pub(crate) fn orphan(&self) {
        if self.is_forked() {
            return;
        }
        self.orphaned.store(true, Ordering::Release);
        self.timers.interrupt();
    }
}

impl<Q: NameQueue> EndsWithProcess for ClientCore<Q> {
    /// Has the engine release everything and end.
    fn end(&self) {
        if self.is_forked() {
            return;
        }
        self.ending.store(true, Ordering::SeqCst);
        // Not free: the engine begins, and looks afterwards, or has ended.
        if let Ok(engine) = self.engine.try_lock()
            && let Some(engine) = &*engine
        {
            engine.wake_by_ref();
        }
    }

    fn has_ended(&self) -> bool {
        self.is_forked() || self.phase.load(Ordering::Acquire) == CLOSED
    }
}

impl<Q: NameQueue> Events for ClientCore<Q> {
    fn answered(&self, answer: Answer) {
        // Not found: retired, so nothing is left that could want the answer.
        if let Some(local) = self.register.find(&answer.request.name) {
            local.answered(answer);
            if self.phase.load(Ordering::Acquire) != OPEN {
                self.emptied.1.notify_all();
            }
        }
    }

    fn told(&self, name: &Name, message: Message) {
        if let Some(local) = self.register.find(name) {
            local.told(&message);
        }
    }

    fn connected(&self, node: Node, generation: u64) {
        self.links.up(node);
        if generation > 1 {
            for local in self.living_at(node) {
                local.reconnected();
            }
        }
    }

    fn disconnected(&self, node: Node, error: StoreError) {
        self.links.down(node, error);
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
        self.links.up(node);
        self.links.closed(node, None);
    }
}

// A panic of users cannot leave a member in a broken state: none of their code runs inside.
impl<Q> std::panic::UnwindSafe for ClientCore<Q> {}
impl<Q> std::panic::RefUnwindSafe for ClientCore<Q> {}

impl<Q> std::fmt::Debug for ClientCore<Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
