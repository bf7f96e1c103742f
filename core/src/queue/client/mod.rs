//! [`ClientCore`]: the part of a client that all its locks share. The background thread runs it.

mod deadlocks;
mod leads;
mod links;
mod load;
mod machine;
mod registry;
#[cfg(any(test, feature = "test-util"))]
mod tested;
#[cfg(not(any(test, feature = "test-util")))]
#[path = "untested.rs"]
mod tested;
mod timers;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use self::links::Links;
pub use self::load::Unfinished;
use self::registry::Registry;
pub(crate) use self::timers::NAP;
use self::timers::Timers;
use auto_mutex_protocol::client::{ClientTimes, Input, Load, News, Outage, Phase, View};

use super::acquire::Acquire;
use super::lead::Lead;
use super::lock_queue::{LockQueue, answered};
use super::waiter::{Requester, Want};
use crate::base::clock::{self, Instant};
use crate::base::error::{LockError, LossCause, StoreError};
use crate::base::name::Name;
use crate::base::process;
use crate::base::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use crate::base::sync::{Condvar, Mutex, PoisonError};
use crate::base::task::TaskId;
use crate::base::wait::{self, Limit, Promise, lock};
use crate::config::Settings;
use crate::deadlock::Searches;
use crate::observe::STORE;
use crate::observer::{Metric, SharedObserver};
use crate::order::LockOrder;
use crate::store::guarantees::Guarantees;
use crate::store::guarantees::weakness::{self, Weakness};
use crate::store::{
    Answer, Closed, Events, Limits, MemberId, Message, Node, NodeChange, RENEWALS, RequestId,
    SharedStr, Store, Ticket, meta, random_number,
};
use auto_mutex_protocol::StoreErrorKind;

const REPEATED: Duration = Duration::from_secs(1);

const LOOK: Duration = Duration::from_millis(5);

/// The part of a client that all its locks share.
pub struct ClientCore {
    id: u64,
    /// Under which the store knows this client.
    member: MemberId,
    settings: Settings,
    pub(crate) limits: &'static Limits,
    store: Arc<dyn Store>,
    pub(super) register: Registry,
    pub(crate) links: Links,
    /// The weaknesses logged so far; `None` until set-up logs its own.
    logged: Mutex<Option<Vec<Weakness>>>,
    pub(crate) timers: Timers,
    /// The durations that the rules need.
    pub(crate) times: ClientTimes,
    /// How many names are kept.
    kept: AtomicUsize,
    /// The terms of leaders, and who waits for a time.
    terms: Mutex<Vec<Arc<Lead>>>,
    alarms: Mutex<Vec<(Instant, Arc<Promise<()>>)>>,
    searches: Mutex<Searches>,
    /// Inspections without an answer, each with the pass of its search.
    inspections: Mutex<HashMap<RequestId, u64>>,
    pub(crate) failed_renewals: Limit,
    pub(crate) failed_releases: Limit,
    pub(crate) timeouts: Limit,
    pub(super) other_permits: Limit,
    phase: AtomicU8,
    /// The last clone of the `Client` was dropped.
    orphaned: AtomicBool,
    /// The process is ending.
    ending: AtomicBool,
    background: Mutex<Option<Waker>>,
    requests: AtomicU64,
    forks: u32,
    machine: String,
    pid: u32,
    pub(crate) order: LockOrder,
    tested: tested::Tested,
    /// Notified when a drain or a shutdown should check again whether any lock is held.
    emptied: (Mutex<()>, Condvar),
}

impl ClientCore {
    /// Of a store that is not connected yet.
    pub fn new(settings: Settings, store: Arc<dyn Store>, member: MemberId) -> Arc<Self> {
        static IDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let (machine, pid) = machine::process(&settings);
        Arc::new(Self {
            id,
            member,
            order: LockOrder::new(id, settings.allowed_orders.clone()),
            searches: Mutex::new(Searches::new(u64::from(random_number()) << 32)),
            logged: Mutex::new(settings.lazily.then(Vec::new)),
            times: ClientTimes {
                lease: settings.lease(),
                beat: settings.lease() / RENEWALS,
                store_timeout: settings.store_timeout(),
                handoff: settings.handoff,
                skips: settings.skips(),
            },
            limits: settings.limits,
            settings,
            store,
            register: Registry::default(),
            links: Links::default(),
            terms: Mutex::default(),
            alarms: Mutex::default(),
            timers: Timers::default(),
            kept: AtomicUsize::new(0),
            inspections: Mutex::default(),
            failed_renewals: Limit::every(REPEATED),
            failed_releases: Limit::every(REPEATED),
            timeouts: Limit::every(REPEATED),
            // As long as a new version of a program is rolled out, it is the same for many names.
            other_permits: Limit::every(60 * REPEATED),
            phase: AtomicU8::new(Phase::Open.number()),
            orphaned: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            background: Mutex::default(),
            requests: AtomicU64::new(1),
            forks: process::forks(),
            machine,
            pid,
            tested: Default::default(),
            emptied: Default::default(),
        })
    }

    /// Unique in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Describes a caller at `site` that gave no owner: see [`meta`].
    pub(crate) fn meta(&self, site: &str) -> SharedStr {
        meta::write(&self.machine, self.pid, site)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    #[inline]
    pub(crate) fn observer(&self) -> Option<&SharedObserver> {
        self.settings.observer.as_ref()
    }

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

    pub(crate) fn request_id(&self) -> RequestId {
        RequestId(self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// The background thread and the connection exist only in the process that made the client.
    pub(crate) fn is_forked(&self) -> bool {
        self.tested.is_forked() || self.forks != process::forks()
    }

    #[inline]
    fn phase(&self) -> Phase {
        Phase::from_number(self.phase.load(Ordering::Acquire))
    }

    /// No phase comes back.
    fn end_at(&self, phase: Phase) {
        self.phase.fetch_max(phase.number(), Ordering::AcqRel);
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.is_forked() && self.phase() == Phase::Open
    }

    /// What the rules see of the client.
    #[inline]
    pub(crate) fn view(&self) -> View {
        let phase = match self.is_forked() {
            true => Phase::Closed,
            false => self.phase(),
        };
        let is_leaving = self.orphaned.load(Ordering::Acquire) || self.is_ending();
        View::of(phase, is_leaving, self.kept.load(Ordering::Relaxed))
    }

    /// Counts a name that the client begins, or ceases, to keep.
    pub(crate) fn count_kept(&self, keeps: bool) {
        match keeps {
            true => self.kept.fetch_add(1, Ordering::Relaxed),
            false => self.kept.fetch_sub(1, Ordering::Relaxed),
        };
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.phase() == Phase::Draining
    }

    /// Whether the client refuses even the calls of running bodies.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_forked() || self.phase().is_over()
    }

    /// Fails with the reason once the client [is over](Self::is_over).
    #[inline]
    pub(crate) fn check(&self, name: &Name) -> Result<(), LockError> {
        match self.is_over() {
            false => Ok(()),
            true => Err(self.refusal(name)),
        }
    }

    #[cold]
    fn refusal(&self, name: &Name) -> LockError {
        match self.phase() {
            _ if self.is_forked() => LockError::Forked,
            Phase::Broken => {
                let message = "the background thread of the client has panicked: make a new client";
                let error = StoreError::new(StoreErrorKind::Disconnected, message);
                self.settings.unavailable(name, error)
            }
            _ => LockError::ShutDown,
        }
    }

    /// See [`Links::trouble`].
    pub(crate) fn trouble(&self, name: &Name) -> (Option<Outage>, Option<Closed>) {
        self.links.trouble(|| self.store.node(name), self.limits)
    }

    /// Runs the transition again on a new queue if the old one was retired in between.
    pub(crate) fn with_queue<T>(
        self: &Arc<Self>,
        name: &Name,
        mut run: impl FnMut(&Arc<LockQueue>) -> Option<T>,
    ) -> Result<T, LockError> {
        loop {
            self.check(name)?;
            let local = self.register.get(name, self)?;
            if let Some(result) = run(&local) {
                return Ok(result);
            }
        }
    }

    /// Lets a call enter the queue of its name, or one of its own if it waits for a signal.
    pub(crate) fn enter(
        self: &Arc<Self>,
        name: &Name,
        want: &Want,
        by: &Requester,
    ) -> Result<Result<Acquire, LockError>, LockError> {
        loop {
            let local = match want.share.capacity {
                0 => self.register.add_alone(name, self)?,
                _ => return self.with_queue(name, |local| local.enter(want, by)),
            };
            // A drain in between has retired it.
            if let Some(entered) = local.enter(want, by) {
                return Ok(entered);
            }
        }
    }

    pub(crate) fn tick(&self) -> Option<Instant> {
        // Read once, so that timers armed meanwhile wait for the next call. The background thread must get to its other
        // work.
        let now = clock::now();
        while let Some((armed, local)) = self.timers.pop(now) {
            if !local.due(armed) {
                self.register.retire(&local);
            }
        }
        let search = self.search_for_deadlocks(now);
        let terms = self.look_at_terms(now);
        [self.timers.next(), search, terms]
            .into_iter()
            .flatten()
            .min()
    }

    pub(crate) fn load(&self) -> Load {
        let names = self.register.all();
        let loads = names.iter().map(|local| local.lock().state.load());
        loads.fold(Load::default(), Load::and)
    }

    pub(crate) fn held(&self) -> Vec<Unfinished> {
        let names = self.register.all();
        names.iter().flat_map(|local| local.held()).collect()
    }

    pub(crate) fn has_taken(&self, task: TaskId) -> bool {
        self.held().iter().any(|held| held.taken_by == Some(task))
    }

    /// Stops new locks: from now on, only running bodies may take any.
    pub(crate) fn start_draining(&self) {
        if self.is_forked() {
            return;
        }
        let (open, draining) = (Phase::Open.number(), Phase::Draining.number());
        let opened =
            self.phase
                .compare_exchange(open, draining, Ordering::AcqRel, Ordering::Acquire);
        if opened.is_err() {
            return;
        }
        let held = self.held();
        let holders: HashSet<_> = held.iter().filter_map(|held| held.taken_by).collect();
        for local in self.register.all() {
            local.drain(&holders);
        }
        for lead in self.all_terms() {
            lead.tell(LossCause::ShutDown);
        }
    }

    /// Waits until no lock is held, `ends` has come, or `stop` is set; call [`look`](Self::look) after setting it.
    /// Returns the locks that are still held.
    pub(crate) fn drain(&self, ends: Instant, stop: &AtomicBool) -> Vec<Unfinished> {
        self.start_draining();
        self.wait_until(ends, || {
            // The client may be shut down during the drain.
            stop.load(Ordering::Acquire) || self.is_over() || self.load().held == 0
        });
        match self.is_over() {
            false => self.held(),
            true => Vec::new(),
        }
    }

    /// Returns `false` if a release stayed unanswered for `limit`; that hold ends with its lease.
    pub(crate) fn shut_down(&self, limit: Duration) -> bool {
        if self.is_forked() {
            return true;
        }
        self.begin_shutdown();
        let mut flushed = false;
        self.wait_until(clock::now().after(limit), || {
            flushed = self.is_flushed();
            flushed || self.phase() >= Phase::Closed
        });
        self.close();
        flushed
    }

    /// Waits until `done` returns `true` or `ends` has come. It also checks periodically, because a change can come
    /// between the check and the wait.
    fn wait_until(&self, ends: Instant, mut done: impl FnMut() -> bool) {
        let mut guard = lock(&self.emptied.0);
        loop {
            let now = clock::now();
            if done() || ends <= now {
                return;
            }
            // Checks of very many names are slow, so the pause grows with their time.
            let looked = now.until(clock::now());
            let pause = LOOK.max(looked * 4).min(now.until(ends));
            #[cfg(any(test, feature = "test-util"))]
            {
                drop(guard);
                let paused = wait::pause(pause);
                guard = lock(&self.emptied.0);
                if paused {
                    continue;
                }
            }
            let woken = self.emptied.1.wait_timeout(guard, pause);
            guard = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(crate) fn look(&self) {
        self.emptied.1.notify_all();
    }

    pub(crate) fn begin_shutdown(&self) {
        if self.is_forked() {
            return;
        }
        self.end_at(Phase::Closing);
        for local in self.register.all() {
            local.close();
        }
    }

    pub(crate) fn is_flushed(&self) -> bool {
        self.are_over(Instant::START)
    }

    fn are_over(&self, now: Instant) -> bool {
        let all = self.register.all();
        all.iter().all(|local| local.lock().state.is_over(now))
    }

    pub(crate) fn close(&self) {
        self.end_at(Phase::Closed);
        self.timers.interrupt();
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Sets the waker of the background thread, or `None` when the thread has ended. A starting thread checks
    /// [`is_ending`](Self::is_ending) after this call.
    pub(crate) fn set_background(&self, waker: Option<Waker>) {
        *lock(&self.background) = waker;
    }

    pub(crate) fn abandon(&self) {
        self.end_at(match std::thread::panicking() {
            true => Phase::Broken,
            false => Phase::Closed,
        });
        for local in self.register.take() {
            local.abandon();
        }
        self.wake_sleepers(Instant::NEVER);
        self.timers.clear();
        self.timers.interrupt();
        self.note_servers(-self.links.all_gone());
    }

    /// Whether the client was shut down, or its last clone was dropped and no lock is held.
    pub(crate) fn is_closed(&self) -> bool {
        let orphaned = self.orphaned.load(Ordering::Acquire);
        self.phase() >= Phase::Closed || orphaned && self.are_over(clock::now())
    }

    /// Call this when the last clone of the `Client` was dropped. The holds stay; the background thread ends after the
    /// last of them.
    pub(crate) fn orphan(&self) {
        if !self.is_forked() {
            self.orphaned.store(true, Ordering::Release);
            for local in self.register.all() {
                local.step(|step| step.on(Input::ReleaseKept));
            }
            self.timers.interrupt();
        }
    }

    pub(crate) fn guarantees(&self) -> Guarantees {
        let mut guarantees = self.store.guarantees();
        guarantees.skipped = self.settings.skips();
        guarantees
    }

    /// Logs the weaknesses found at set-up.
    pub(crate) fn log_weaknesses(&self) {
        weakness::log(&self.new_weaknesses(true));
    }

    /// Weaknesses not logged yet. After the set-up, those of servers that took over or joined the store.
    fn new_weaknesses(&self, at_setup: bool) -> Vec<Weakness> {
        let guarantees = self.guarantees();
        let mut logged = lock(&self.logged);
        if at_setup {
            logged.get_or_insert_default();
        }
        let (Some(logged), true) = (&mut *logged, guarantees.are_known()) else {
            return Vec::new();
        };
        let mut new = guarantees.weaknesses();
        new.retain(|weakness| !logged.contains(weakness));
        logged.extend(new.iter().cloned());
        new
    }
}

/// At the end of the process.
impl ClientCore {
    /// Starts releasing everything. The calling thread may have any mutex locked, and may have lost its thread-locals.
    pub(crate) fn end(&self) {
        if self.is_forked() {
            return;
        }
        self.ending.store(true, Ordering::SeqCst);
        // If the mutex is locked, the background thread is in `set_background`. A starting thread checks the flag
        // afterwards, and an ended one needs no wake.
        if let Ok(background) = self.background.try_lock()
            && let Some(waker) = &*background
        {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_forked() || self.phase() >= Phase::Closed
    }
}

impl Events for ClientCore {
    fn answered(&self, answer: Answer) {
        if self.takes_for_search(&answer) {
            return;
        }
        // A missing queue was retired, so nothing waits for the answer.
        let ticket = answer.request.op.ticket().map(|ticket| ticket.public());
        if let Some(local) = self.register.find_ticket(&answer.request.name, ticket) {
            local.step(|step| step.on(answered(answer)));
            if self.phase() != Phase::Open {
                self.look();
            }
        }
    }

    fn ticket(&self, name: &Name, public: u64) -> Option<Ticket> {
        self.own(name, public)
    }

    fn is_idle(&self) -> bool {
        self.is_flushed()
    }

    fn told(&self, name: &Name, message: Message) {
        if let Message::Probe { from, text } = &message {
            return self.probed(name, *from, text);
        }
        let ticket = message.ticket().map(|ticket| ticket.public());
        if let Some(local) = self.register.find_ticket(name, ticket) {
            local.step(|step| step.on(Input::Told(message)));
        }
    }

    fn node_changed(&self, node: Node, change: NodeChange) {
        let connected = matches!(change, NodeChange::Connected { .. });
        let changed = self.links.note(node, change);
        if let Some(closed) = changed.closes {
            let (server, error) = (self.settings.engine.servers(), closed.error(clock::now()));
            wait::tell(move || {
                tracing::warn!(target: STORE, server, %error, "the lock store grants nothing yet");
            });
        }
        self.note_servers(changed.connected);
        if connected {
            let new = self.new_weaknesses(false);
            wait::tell(move || weakness::log(&new));
        }
        if let Some(news) = changed.names {
            let mut all = self.register.all();
            all.retain(|local| self.store.node(&local.name) == node);
            for local in all {
                local.step(|step| match news {
                    News::Disconnected => {}
                    News::Reconnected => step.on(Input::Reconnected),
                    News::Forgotten => step.on(Input::Forgotten),
                });
            }
        }
    }
}

// Panics in user code leave a client consistent, because clients run no user code.
impl std::panic::UnwindSafe for ClientCore {}
impl std::panic::RefUnwindSafe for ClientCore {}
