//! [`Shared`]: the state behind a [`World`](super::World), and what the locks report to it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Weak};
use std::time::Duration;

use auto_mutex_core::hook::{START_HERE, Turns, Witnessed};
use auto_mutex_core::store::{Closed, MemberId, Mutex, Name, Op, Reply, clock, lock, seal};
use auto_mutex_core::{Client, MutexGuard, StoreError, hook};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::choices::{Choices, Schedule};
use super::clock::{Clock, is_paused};
use super::endpoint::start;
use super::events::{Event, Happening, Record};
use super::fault::{Fault, Operation};
use super::forger::Heard;
use super::limits::{self, PATIENCE};
use super::member::Member;
use super::server::Server;

thread_local! {
    static HERE: RefCell<Weak<Shared>> = const { RefCell::new(Weak::new()) };
}

pub(crate) struct Shared {
    pub(super) clock: Arc<Clock>,
    choices: Mutex<Choices>,
    pub(super) server: Mutex<Server>,
    pub(super) members: Mutex<Vec<Arc<Member>>>,
    pub(super) record: Mutex<Record>,
    /// What strangers know.
    pub(super) heard: Mutex<Heard>,
    failures: Mutex<VecDeque<(Operation, StoreError)>>,
    /// What has panicked and nobody has awaited: the host and the message, by the number of the task.
    panics: Mutex<BTreeMap<u64, (String, String)>>,
    tasks: AtomicU64,
    delay: AtomicU64,
    pub(super) elsewhere: Mutex<(Option<Client>, Vec<Option<MutexGuard>>)>,
    activity: AtomicU64,
    /// How many turns the test and its hosts had, and the time of the last check.
    pub(super) steps: (AtomicU64, AtomicU64),
    /// Holds time until it is dropped.
    held: Mutex<Option<Sender<()>>>,
    /// How long nothing may happen meanwhile, in real time.
    patience: Duration,
    /// How many calls let time go on.
    advancing: AtomicUsize,
    holds_time: bool,
    /// Has a clone for each declared wait for something real.
    pub(super) beside: Arc<()>,
    pub(super) runtime: Option<Handle>,
    /// When the test last said how time goes on.
    pub(super) advanced: Mutex<Duration>,
}

impl Shared {
    /// Makes the World of this thread.
    pub(super) fn new(schedule: &Schedule) -> Arc<Self> {
        Self::with_patience(schedule, PATIENCE)
    }

    pub(super) fn with_patience(schedule: &Schedule, patience: Duration) -> Arc<Self> {
        let runtime = Handle::try_current().ok();
        if let Some(runtime) = &runtime {
            assert!(
                runtime.runtime_flavor() == RuntimeFlavor::CurrentThread,
                "a World needs a runtime with one thread: #[tokio::test], or Builder::new_current_thread()"
            );
        }
        let holds_time = runtime.is_some() && !is_paused();
        if holds_time {
            tokio::time::pause();
        }
        let shared = Arc::new(Self {
            clock: Clock::new(),
            choices: Mutex::new(Choices::new(schedule)),
            server: Mutex::default(),
            members: Mutex::default(),
            record: Mutex::default(),
            heard: Mutex::default(),
            failures: Mutex::default(),
            panics: Mutex::default(),
            tasks: AtomicU64::new(0),
            delay: AtomicU64::new(0),
            elsewhere: Mutex::default(),
            activity: AtomicU64::new(0),
            steps: <_>::default(),
            held: Mutex::default(),
            patience,
            advancing: AtomicUsize::new(0),
            holds_time,
            beside: Arc::default(),
            runtime,
            advanced: Mutex::default(),
        });
        shared.hold_time();
        if let Some(runtime) = &shared.runtime {
            runtime.spawn(limits::limit_time(Arc::downgrade(&shared)));
        }
        shared.install(schedule.seed);
        shared.install_turns(|| {});
        shared
    }

    /// Lets the locks of this thread run in this World.
    pub(super) fn install(self: &Arc<Self>, seed: u64) {
        self.clock.install();
        hook::seed(seed);
        HERE.set(Arc::downgrade(self));
        START_HERE.set(Some(start));
    }

    /// Lets this thread's code start threads that take turns with the tasks. Returns what was before.
    pub(super) fn install_turns(
        self: &Arc<Self>,
        settle: impl Fn() + Send + Sync + 'static,
    ) -> Option<Turns> {
        let world = Arc::downgrade(self);
        let begin = move || {
            if let Some(world) = world.upgrade() {
                let seed = world.below(1 << 32);
                world.install(seed);
            }
        };
        let turns = |runtime| Turns {
            runtime,
            begin: Arc::new(begin),
            settle: Arc::new(settle),
        };
        Turns::replace(self.runtime.clone().map(turns))
    }

    pub(super) fn here() -> Option<Arc<Self>> {
        HERE.try_with(|here| here.borrow().upgrade()).ok().flatten()
    }

    pub(super) fn is_here() -> bool {
        Self::here().is_some() && Handle::try_current().is_ok()
    }

    /// Lets time go on until the result is dropped.
    pub(super) fn release_time(self: &Arc<Self>) -> Advancing {
        if self.advancing.fetch_add(1, Ordering::Relaxed) == 0 {
            drop(lock(&self.held).take());
        }
        Advancing(self.clone())
    }

    fn hold_time(self: &Arc<Self>) {
        if self.holds_time {
            let (sender, released) = std::sync::mpsc::channel();
            let (world, patience) = (Arc::downgrade(self), self.patience);
            let hold = move || limits::hold_time(&released, patience, &world);
            self.runtime().spawn_blocking(hold);
            *lock(&self.held) = Some(sender);
        }
    }

    /// The runtime of the World, or that of a simulator's host.
    pub(super) fn runtime(&self) -> Handle {
        self.runtime.clone().unwrap_or_else(Handle::current)
    }

    /// Lets the clock run again for what comes after the World.
    fn give_clock_back(&self) {
        let here = Handle::try_current();
        let is_over = here.is_err_and(|error| error.is_thread_local_destroyed());
        if let Some(runtime) = self
            .runtime
            .as_ref()
            .filter(|_| self.holds_time && !is_over)
        {
            let _entered = runtime.enter();
            if is_paused() {
                tokio::time::resume();
            }
        }
    }

    pub(super) fn below(&self, options: u64) -> u64 {
        lock(&self.choices).below(options)
    }

    pub(super) fn unusual(&self) -> BTreeMap<usize, u64> {
        lock(&self.choices).unusual()
    }

    pub(super) fn task_number(&self) -> u64 {
        self.tasks.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn note_panic(&self, task: u64, host: &str, message: &str) {
        let panic = (host.to_owned(), message.to_owned());
        lock(&self.panics).insert(task, panic);
    }

    /// The test has the panic itself.
    pub(super) fn took_panic(&self, task: u64) {
        lock(&self.panics).remove(&task);
    }

    /// The first panic that the test does not know of.
    pub(super) fn unknown_panic(&self) -> Option<String> {
        let (_, (host, message)) = lock(&self.panics).pop_first()?;
        Some(format!("host `{host}` panicked: {message}"))
    }

    /// Fails the test if a host has panicked.
    #[track_caller]
    pub(super) fn check_hosts(&self) {
        if let Some(panic) = self.unknown_panic() {
            panic!("{panic}");
        }
    }

    pub(super) fn note_activity(&self) {
        self.activity.fetch_add(1, Ordering::Relaxed);
        self.note_step();
    }

    /// Waits until no host does anything for so many turns.
    pub(super) async fn idle(&self, turns: usize) {
        loop {
            let before = self.activity.load(Ordering::Relaxed);
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            if before == self.activity.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    pub(super) fn all_members(&self) -> Vec<Arc<Member>> {
        lock(&self.members).clone()
    }

    pub(super) fn member(&self, id: MemberId) -> Option<Arc<Member>> {
        let members = lock(&self.members);
        members.iter().find(|member| member.id == id).cloned()
    }

    pub(super) fn delay(&self) -> Duration {
        Duration::from_nanos(self.delay.load(Ordering::Relaxed))
    }

    pub(super) fn set_delay(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.delay.store(delay, Ordering::Relaxed);
    }

    pub(super) fn epoch(&self) -> Option<u32> {
        lock(&self.server).epoch()
    }

    pub(super) fn closed(&self) -> Option<Closed> {
        lock(&self.server).closed()
    }

    pub(super) fn fail_next(&self, operation: Operation, error: StoreError) {
        lock(&self.failures).push_back((operation, error));
    }

    /// The error that the test wants for this request.
    pub(super) fn failure(&self, op: &Op) -> Option<StoreError> {
        let kind = match op {
            Op::Acquire { .. } | Op::Adopt { .. } => Operation::Acquire,
            Op::Touch { .. } => Operation::Renew,
            Op::Release { .. } => Operation::Release,
            Op::Inspect { .. } => Operation::Query,
            _ => Operation::Other,
        };
        let mut failures = lock(&self.failures);
        let wanted = |failure: &(Operation, _)| [Operation::Any, kind].contains(&failure.0);
        let index = failures.iter().position(wanted)?;
        failures.remove(index).map(|failure| failure.1)
    }

    pub(super) fn execute(&self, member: &Member, name: &Name, op: &Op) -> Reply {
        let delay = self.delay();
        let mut server = lock(&self.server);
        let epoch = server.epoch();
        let hears = |to| self.member(to).is_some_and(|to| to.hears(epoch));
        let (reply, messages) = server.execute(member.id, name, op, Duration::ZERO, hears);
        let at = clock::now().after(delay);
        for (to, message) in messages {
            let text = seal(name, &message);
            lock(&self.heard).hear(&text);
            if let Some(to) = self.member(to) {
                to.tell(epoch, at, text);
            }
        }
        reply
    }

    pub(super) fn note(&self, host: &str, name: &str, what: Happening, token: Option<u64>) {
        let event = Event {
            at: self.clock.since_start(),
            host: host.to_owned(),
            name: name.to_owned(),
            what,
            token,
        };
        lock(&self.record).events.push(event);
    }

    pub(super) fn struck(&self, host: &str, name: &str, fault: Fault) {
        fault.tried();
        self.note(host, name, Happening::Fault(fault), None);
    }

    /// A caller has the lock.
    pub(super) fn began(&self, host: &str, hold: &Witnessed) {
        let (name, at) = (hold.name.as_str(), self.clock.since_start().as_secs_f64());
        let held = format!("`{name}` since {at:.3}s, by {}", hold.site);
        let known = lock(&self.record)
            .active
            .insert((hold.ticket, hold.token), (host.to_owned(), held));
        if known.is_some() {
            return;
        }
        self.note(host, name, Happening::Granted, Some(hold.token));
        let taken = lock(&self.record).taken.clone();
        let (mut units, mut hosts) = (0, Vec::new());
        for member in self.all_members() {
            let holds = member.core().map(|core| core.valid(&hold.name));
            for other in holds.into_iter().flatten() {
                if taken.contains(&other.ticket) {
                    continue;
                }
                units += u64::from(other.units);
                hosts.push(member.host.clone());
            }
        }
        if units > u64::from(hold.capacity) && hold.units > 0 {
            let overlap = format!("{at:.3}s {name}: {}", hosts.join(" and "));
            lock(&self.record).overlaps.push(overlap);
        }
    }

    pub(super) fn ended(&self, host: &str, hold: &Witnessed) {
        let key = (hold.ticket, hold.token);
        if lock(&self.record).active.remove(&key).is_none() {
            return;
        }
        let what = match hold.lost {
            Some(cause) => Happening::Lost(cause),
            None => Happening::Released,
        };
        self.note(host, hold.name.as_str(), what, Some(hold.token));
    }
}

/// Time goes on while this value is there.
pub(super) struct Advancing(Arc<Shared>);

impl Drop for Advancing {
    fn drop(&mut self) {
        if self.0.advancing.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.hold_time();
        }
    }
}

impl Drop for Shared {
    /// What this thread does next is real.
    fn drop(&mut self) {
        self.give_clock_back();
        let is_here = HERE.try_with(|here| here.borrow().as_ptr() == std::ptr::from_mut(self));
        if is_here.unwrap_or(false) {
            Turns::replace(None);
            START_HERE.set(None);
            hook::unseed();
            // A test that made its World by itself.
            if !std::thread::panicking() {
                self.check_hosts();
            }
        }
    }
}
