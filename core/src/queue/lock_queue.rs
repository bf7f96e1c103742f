//! [`LockQueue`]: one name of this client. The rules are those of [`State`]; what is here runs them under the mutex of
//! the name, and carries out what follows: it sends, wakes and reports.

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Weak};

use auto_mutex_protocol::client::{
    AskId, CallId, Effect, Ended, Env, Failure, Grant, Input, State,
};

use super::client::ClientCore;
use super::hold::Hold;
use super::waiter::{Requester, Waiter, Want};
use crate::base::clock::{self, Instant};
use crate::base::error::{LockError, StoreError};
use crate::base::name::Name;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::sync::{Mutex, MutexGuard};
use crate::base::wait::{DeferredWakes, Limit, Promise, lock};
use crate::lease::Bound;
use crate::observe::{HOLD, operation};
use crate::observer::Metric;
use crate::store::{Answer, Op, RandomId, Reply, Request, RequestId, SharedStr, Ticket, meta};

/// Keeps a client open until this value and the last guard are dropped.
pub(crate) struct OpenClient(pub(crate) Arc<ClientCore>);

impl Drop for OpenClient {
    fn drop(&mut self) {
        self.0.orphan();
    }
}

pub(crate) struct LockQueue {
    pub(crate) name: Name,
    pub(crate) core: Arc<ClientCore>,
    /// Unique in the client.
    pub(super) number: u64,
    /// Whether it has only one call, which waits for a signal.
    pub(super) alone: bool,
    /// Whether guards have changed a hold since the last transition.
    pub(super) touched: AtomicBool,
    slot: Mutex<Slot>,
}

/// For a release: the number of units that are free, or `None` if the lock was lost before.
pub(crate) type Confirmed = Arc<Promise<Result<Option<u64>, LockError>>>;
pub(crate) type Answered = Arc<Promise<Result<Reply, LockError>>>;

#[derive(Default)]
pub(super) struct Slot {
    /// A caller with a reference to a retired queue must look the name up again.
    pub(super) retired: bool,
    pub(super) armed: Option<Instant>,
    pub(super) state: State<Arc<Waiter>>,
    /// Those that have not ended.
    pub(super) holds: Vec<Arc<Hold>>,
    asks: Vec<(AskId, Confirmed)>,
    queries: Vec<(AskId, Answered)>,
    /// Bounds of nested calls whose end a listener of the hold waits for.
    pub(super) bounds: Vec<(CallId, Weak<Bound>)>,
    pub(super) look_at_workers: Option<Instant>,
    pub(super) warned_of: u64,
    /// The caller and the holder whose programs were compared last.
    pub(super) compared: Option<[SharedStr; 2]>,
    numbers: u64,
    /// Whether the name counts as one that the client keeps.
    counted: bool,
    /// The memory of the last hold and of its waiter, for the next call of the name.
    spare: Option<Arc<Hold>>,
    spare_waiter: Option<Arc<Waiter>>,
    #[cfg(any(test, feature = "test-util"))]
    bare: State<Arc<Waiter>>,
}

/// One transition. Its requests are sent before the next one can begin; then tasks are woken, with no mutex locked.
pub(super) struct Transition<'a> {
    pub(super) queue: &'a Arc<LockQueue>,
    pub(super) slot: &'a mut Slot,
    pub(super) now: Instant,
    pub(super) env: Env<'a>,
    pub(super) wakes: &'a mut DeferredWakes,
    work: Work,
    /// The tickets that the rules have drawn.
    #[cfg(any(test, feature = "test-util"))]
    drawn: &'a std::cell::RefCell<Vec<Ticket>>,
}

/// What a transition has still to do. Its memory is the thread's, so that a call allocates none.
#[derive(Default)]
struct Work {
    effects: Vec<Effect<Arc<Waiter>>>,
    inputs: VecDeque<Input<Arc<Waiter>>>,
    /// Dropped when no mutex is locked: they may have the last reference to anything.
    dropped: Vec<Arc<Hold>>,
}

thread_local! {
    static WORK: Cell<Option<Box<Work>>> = const { Cell::new(None) };
}

impl LockQueue {
    pub(super) fn new(name: Name, core: Arc<ClientCore>, alone: bool) -> Arc<Self> {
        Arc::new(Self {
            name,
            alone,
            number: core.request_id().0,
            core,
            touched: AtomicBool::new(false),
            slot: Mutex::default(),
        })
    }

    /// A new ticket.
    #[inline]
    fn draw(self: &Arc<Self>) -> Ticket {
        let ticket = Ticket::random();
        if self.alone {
            self.core.register.note_ticket(self, ticket);
        }
        ticket
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Slot> {
        lock(&self.slot)
    }

    /// Returns `None` if the name was retired, and in a forked child, which only has a copy of the queue.
    pub(super) fn step<T>(
        self: &Arc<Self>,
        run: impl FnOnce(&mut Transition<'_>) -> T,
    ) -> Option<T> {
        // Another thread of the parent may have held the mutex at the fork.
        if self.core.is_forked() {
            return None;
        }
        let mut slot = self.lock();
        if slot.retired {
            return None;
        }
        let mut wakes = DeferredWakes::default();
        let work = WORK.try_with(Cell::take).ok().flatten();
        let mut work = work.unwrap_or_default();
        let now = clock::now();
        let (outage, closed) = self.core.trouble(&self.name);
        #[cfg(any(test, feature = "test-util"))]
        let drawn = std::cell::RefCell::new(Vec::new());
        let mut draw = || {
            let ticket = self.draw();
            #[cfg(any(test, feature = "test-util"))]
            if self.core.witness().is_some() {
                drawn.borrow_mut().push(ticket);
            }
            ticket
        };
        let mut step = Transition {
            queue: self,
            slot: &mut slot,
            now,
            env: Env {
                now,
                limits: self.core.limits,
                client: &self.core.times,
                view: self.core.view(),
                outage,
                closed,
                ticket: &mut draw,
            },
            wakes: &mut wakes,
            work: mem::take(&mut work),
            #[cfg(any(test, feature = "test-util"))]
            drawn: &drawn,
        };
        step.see_guards();
        let result = run(&mut step);
        step.settle();
        *work = step.work;
        drop(slot);
        work.dropped.clear();
        let _ = WORK.try_with(|place| place.set(Some(work)));
        if self.alone {
            // It has no other call to wait for.
            self.core.register.retire(self);
        }
        self.core.store().flush();
        wakes.wake();
        Some(result)
    }
}

impl Slot {
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(super) fn hold(&self, call: CallId) -> Option<&Arc<Hold>> {
        self.holds.iter().find(|hold| hold.call() == call)
    }

    /// Frees what only the next call would use.
    pub(super) fn forget_spares(&mut self) -> (Option<Arc<Hold>>, Option<Arc<Waiter>>) {
        (self.spare.take(), self.spare_waiter.take())
    }

    /// A new call, in the memory of an earlier one if nothing refers to that any more.
    pub(super) fn call(&mut self, want: Want, by: Requester, now: Instant) -> Arc<Waiter> {
        let waiter = Waiter::new(CallId(self.number()), want, by, now);
        if let Some(mut spare) = self.spare_waiter.take()
            && let Some(memory) = Arc::get_mut(&mut spare)
        {
            *memory = waiter;
            return spare;
        }
        Arc::new(waiter)
    }
}

impl Transition<'_> {
    /// Tells the rules what guards have changed without the mutex.
    fn see_guards(&mut self) {
        if !self.queue.touched.load(Ordering::Acquire) {
            return;
        }
        self.queue.touched.store(false, Ordering::SeqCst);
        let seen = self.slot.holds.iter().filter_map(|hold| hold.seen());
        self.work.inputs.extend(seen);
        self.run();
    }

    /// Runs the rules for `input`, and for the answers that come at once.
    #[inline]
    pub(super) fn on(&mut self, input: Input<Arc<Waiter>>) {
        self.feed(input);
        self.run();
    }

    #[inline]
    fn run(&mut self) {
        loop {
            if !self.work.effects.is_empty() {
                let mut effects = mem::take(&mut self.work.effects);
                for effect in effects.drain(..) {
                    self.carry_out(effect);
                }
                self.work.effects = effects;
            }
            match self.work.inputs.pop_front() {
                Some(input) => self.feed(input),
                None => return,
            }
        }
    }

    #[inline]
    fn feed(&mut self, input: Input<Arc<Waiter>>) {
        if let Input::Answered { ask, op, result } = &input {
            self.note_answer(*ask, op, result);
            self.queue.core.links.note_refusal(op, result, self.now);
            if let (
                Op::Acquire { .. },
                Ok(Reply::Queued {
                    holder: Some(it), ..
                }),
            ) = (op, result)
            {
                self.note_holder(it);
            }
        }
        #[cfg(any(test, feature = "test-util"))]
        let again = (self.queue.core.witness()).map(|_| (input.clone(), self.work.effects.len()));
        self.slot
            .state
            .on(input, &mut self.env, &mut self.work.effects);
        #[cfg(any(test, feature = "test-util"))]
        if let Some((input, before)) = again {
            let (drawn, effects) = (self.drawn.take(), &self.work.effects[before..]);
            super::replay::replay(&mut self.slot.bare, input, &self.env, drawn, effects);
        }
    }

    #[inline]
    fn carry_out(&mut self, effect: Effect<Arc<Waiter>>) {
        match effect {
            Effect::Send { ask, op } => {
                let (name, id) = (self.queue.name.clone(), RequestId(ask.0));
                if let Some(answer) = self.queue.core.store().submit(Request { name, op, id }) {
                    self.work.inputs.push_back(answered(answer));
                }
            }
            Effect::Granted {
                caller,
                grant,
                beside,
            } => self.granted(caller, grant, beside),
            Effect::Failed { caller, error } => {
                let error = self.queue.error(error);
                caller.fail(error, self.wakes);
            }
            Effect::Registered(caller) => caller.note_registered(self.wakes),
            Effect::Valid { hold, valid } => {
                if let Some(hold) = self.slot.hold(hold) {
                    hold.set_valid(valid);
                }
            }
            Effect::Ended { hold, how, asked } => self.ended(hold, how, asked),
            Effect::Confirmed { ask, result } => {
                if let Some(promise) = take(&mut self.slot.asks, ask) {
                    let result = result.map_err(|error| self.queue.error(error));
                    let _ = promise.complete(result, self.wakes);
                }
            }
            Effect::Replied { ask, result } => {
                if let Some(promise) = take(&mut self.slot.queries, ask) {
                    let result = result.map_err(|error| self.queue.error(error));
                    let _ = promise.complete(result, self.wakes);
                }
            }
            Effect::HandedOn { hold } => self.count(Metric::Handoff, hold),
            Effect::RenewalFailed { hold, error } => {
                self.count(Metric::RenewalFailures, hold);
                self.failed("renewal", &self.queue.core.failed_renewals, error);
            }
            Effect::ReleaseFailed { error } => {
                self.failed("release", &self.queue.core.failed_releases, error);
            }
        }
    }

    /// The hold of a grant, in the memory of the last one if nothing refers to that any more.
    #[inline(always)]
    fn hold_of(&mut self, waiter: Arc<Waiter>, grant: Grant) -> Arc<Hold> {
        if let Some(mut spare) = self.slot.spare.take() {
            let memory = Arc::get_mut(&mut spare);
            match memory.filter(|last| last.listeners.is_empty()) {
                Some(last) => {
                    self.slot.spare_waiter = Some(last.again(waiter, grant, self.now));
                    return spare;
                }
                None => self.work.dropped.push(spare),
            }
        }
        Arc::new(Hold::new(self.queue.clone(), waiter, grant, self.now))
    }

    #[inline(always)]
    fn granted(&mut self, waiter: Arc<Waiter>, grant: Grant, beside: Vec<Arc<Waiter>>) {
        let hold = self.hold_of(waiter.clone(), grant);
        self.slot.holds.push(hold.clone());
        // While the first caller has no guard yet, the hold stays.
        for other in beside {
            if hold.add_guard() && !other.obtain(hold.clone(), self.wakes) {
                hold.remove_guard();
            }
        }
        if !waiter.obtain(hold.clone(), self.wakes) && hold.remove_guard() {
            self.work.inputs.push_back(Input::Release {
                hold: hold.call(),
                returns: true,
                ask: None,
            });
        }
    }

    fn ended(&mut self, call: CallId, how: Ended, asked: bool) {
        let holds = &mut self.slot.holds;
        let Some(index) = holds.iter().position(|hold| hold.call() == call) else {
            return;
        };
        let hold = holds.swap_remove(index);
        if !self.slot.bounds.is_empty() {
            self.slot.bounds.retain(|bound| bound.0 != call);
        }
        hold.ended(how, asked, self.wakes);
        self.work.dropped.extend(self.slot.spare.replace(hold));
    }

    #[cold]
    fn failed(&mut self, what: &'static str, limit: &Limit, error: StoreError) {
        if let Some(others) = limit.pass(self.now) {
            let name = self.queue.name.clone();
            self.wakes.report(move || {
                tracing::warn!(target: HOLD, %name, %error, others, "{what} failed, trying again");
            });
        }
    }

    #[cold]
    fn count(&mut self, metric: Metric, hold: CallId) {
        if let Some(observer) = self.queue.core.observer().cloned()
            && let Some(hold) = self.slot.hold(hold)
        {
            let labels = hold.labels();
            self.wakes
                .observe(move || observer.add(metric, &labels.pairs(), 1));
        }
    }

    fn note_answer(&mut self, ask: AskId, op: &Op, result: &Result<Reply, StoreError>) {
        let Some(observer) = self.queue.core.observer() else {
            return;
        };
        let Some(sent) = self.slot.state.sent_at(ask, op) else {
            return;
        };
        let took = sent.until(self.now);
        let is_lost = matches!(result, Err(error) if error.is_disconnected());
        // An immediate answer came from a store in this process, or from one that is not connected yet.
        if !is_lost && !took.is_zero() {
            let (observer, op) = (observer.clone(), operation(op));
            let metric = Metric::StoreOperationDuration;
            self.wakes
                .observe(move || observer.record(metric, &op, took));
        }
    }

    /// Somebody waits for the answer to a renewal or a release.
    pub(super) fn expect(&mut self, promise: &Confirmed) -> AskId {
        let ask = AskId(self.slot.number());
        self.slot.asks.push((ask, promise.clone()));
        ask
    }

    /// Asks the store something about the name.
    pub(super) fn ask(&mut self, op: Op) -> Answered {
        let promise = Arc::new(Promise::default());
        let ask = AskId(self.queue.core.request_id().0);
        self.slot.queries.push((ask, promise.clone()));
        self.on(Input::Ask { ask, op });
        promise
    }

    /// Fails everything that waits for an answer.
    pub(super) fn fail_asks(&mut self, error: &LockError) {
        for (_, promise) in mem::take(&mut self.slot.asks) {
            let _ = promise.complete(Err(error.clone()), self.wakes);
        }
        for (_, promise) in mem::take(&mut self.slot.queries) {
            let _ = promise.complete(Err(error.clone()), self.wakes);
        }
    }

    #[inline]
    fn settle(&mut self) {
        let counts = self.slot.state.counts_as_kept();
        if counts != self.slot.counted {
            self.slot.counted = counts;
            self.queue.core.count_kept(counts);
        }
        let due = self.slot.state.next_due(&self.env).min(self.next_look());
        if self.slot.armed.is_none_or(|armed| due < armed) {
            self.slot.armed = Some(due);
            self.queue.core.timers.arm(due, self.queue);
        }
    }
}

/// Removes the promise of an answer.
fn take<T>(promises: &mut Vec<(AskId, T)>, ask: AskId) -> Option<T> {
    let index = promises.iter().position(|known| known.0 == ask)?;
    Some(promises.swap_remove(index).1)
}

/// What the rules are told of an answer.
pub(super) fn answered(answer: Answer) -> Input<Arc<Waiter>> {
    Input::Answered {
        ask: AskId(answer.request.id.0),
        op: answer.request.op,
        result: answer.result,
    }
}

impl LockQueue {
    /// The error that a caller gets.
    #[cold]
    pub(super) fn error(&self, failure: Failure) -> LockError {
        let (settings, name) = (self.core.settings(), || self.name.to_string());
        let read = |holder: Option<_>| holder.as_ref().and_then(meta::read).map(Box::new);
        match failure {
            Failure::Timeout { waited, holder } => {
                LockError::timed_out(name(), waited, read(holder))
            }
            Failure::TooManyAttempts { attempts, holder } => {
                LockError::given_up(name(), attempts, read(holder))
            }
            Failure::Busy { waiting } => LockError::crowded(name(), waiting),
            Failure::Mismatch { expected, found } => LockError::mismatch(name(), expected, found),
            Failure::TooManyPermits => LockError::too_many_permits(),
            Failure::Lost { held, cause } => LockError::lost_after(name(), held, cause),
            Failure::Unavailable(error) => settings.unavailable(&self.name, error),
            Failure::Refused(error) => settings.lock_error(&self.name, error),
        }
    }
}
