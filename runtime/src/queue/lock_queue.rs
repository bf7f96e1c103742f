//! [`LockQueue`]: the state of one name in this process, and the frame of every step.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ticket::{Ask, Attempt, Held, Leaving, Query};
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::lease::{RenewalSchedule, Terms};
use crate::member::ClientCore;
use crate::name::Name;
use crate::store::{Answer, Loan, Op, Request, RequestId};
use crate::sync::{Mutex, MutexGuard};
use crate::wait::{Wakes, lock};

/// One client in one process.
pub(crate) type Member = ClientCore<LockQueue>;

/// One name in one process.
pub(crate) struct LockQueue {
    name: Name,
    member: Arc<Member>,
    schedule: RenewalSchedule,
    /// How long a grant of the whole lease is valid.
    validity: Duration,
    state: Mutex<State>,
}

/// What is under the lock.
#[derive(Default)]
pub(super) struct State {
    /// Taken out of the register: whoever still has it must look the name up again.
    pub(super) retired: bool,
    /// Of a store that only this process uses: what is held, and only that, is unknown to the store.
    pub(super) loan: Option<Loan>,
    /// When the engine will look here next.
    pub(super) armed: Option<Instant>,
    /// Nobody is given up before that because the store says nothing.
    pub(super) spared: Option<Instant>,
    /// Not later than the first deadline of `waiters`.
    pub(super) first_deadline: Option<Instant>,
    pub(super) waiters: VecDeque<Arc<Waiter>>,
    /// Some of `waiters` may have an owner that the store knows.
    pub(super) owners: bool,
    /// In the order of the waiters that they are for.
    pub(super) asks: Vec<Ask>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) held: Vec<Held>,
    pub(super) leaving: Vec<Leaving>,
    pub(super) queries: Vec<Query>,
    /// Answers that came at once and are not handled yet.
    pub(super) answers: VecDeque<Answer>,
}

impl State {
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.is_idle_beside_held()
    }

    /// Whether nobody wants anything any more, and the leases of what is being released have ended.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let over = |leaving: &Leaving| leaving.unlocker.is_none() && leaving.over <= now;
        self.held.is_empty()
            && self.waiters.is_empty()
            && self.asks.is_empty()
            && self.attempts.is_empty()
            && self.queries.is_empty()
            && self.leaving.iter().all(over)
    }

    /// Whether nothing is going on but what is held.
    pub(super) fn is_idle_beside_held(&self) -> bool {
        self.waiters.is_empty()
            && self.asks.is_empty()
            && self.attempts.is_empty()
            && self.leaving.is_empty()
            && self.queries.is_empty()
    }
}

/// One step: the state, the time it happens at, and whom to wake after it.
pub(super) struct Transition<'a> {
    pub(super) local: &'a Arc<LockQueue>,
    pub(super) state: &'a mut State,
    pub(super) now: Instant,
    pub(super) wakes: &'a mut Wakes,
}

impl LockQueue {
    pub(super) fn of(name: Name, member: Arc<Member>) -> Self {
        let lease = member.settings().lease;
        Self {
            name,
            schedule: RenewalSchedule::of(lease),
            validity: Instant::START.until(Instant::START.validity(lease)),
            member,
            state: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    pub(crate) fn member(&self) -> &Arc<Member> {
        &self.member
    }

    pub(super) fn lease(&self) -> Duration {
        self.member.settings().lease
    }

    pub(super) fn lease_of(&self, terms: Terms) -> Duration {
        let lease = self.lease();
        terms.expire.map_or(lease, |expire| expire.min(lease))
    }

    /// Until when a grant of `lease` is valid that was asked for at `now`.
    #[inline]
    pub(super) fn validity(&self, lease: Duration, now: Instant) -> Instant {
        match lease == self.lease() {
            true => now.after(self.validity),
            false => now.validity(lease),
        }
    }

    pub(super) fn next_beat_after(&self, now: Instant) -> Instant {
        self.schedule.after(now)
    }

    /// Runs one step; `None` if the name was retired.
    pub(super) fn step<T>(
        self: &Arc<Self>,
        run: impl FnOnce(&mut Transition<'_>) -> T,
    ) -> Option<T> {
        let state = self.open()?;
        Some(self.go_on(state, Instant::now(), Wakes::default(), run))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The state, for one step; `None` if the name was retired.
    pub(super) fn open(&self) -> Option<MutexGuard<'_, State>> {
        let state = self.lock();
        (!state.retired).then_some(state)
    }

    /// Runs one step, or the rest of one that has found that it must go the long way.
    pub(super) fn go_on<T>(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        now: Instant,
        mut wakes: Wakes,
        run: impl FnOnce(&mut Transition<'_>) -> T,
    ) -> T {
        self.end_loan(&mut state);
        let mut step = Transition {
            local: self,
            state: &mut state,
            now,
            wakes: &mut wakes,
        };
        let result = run(&mut step);
        step.settle();
        drop(state);
        self.member.store().flush();
        wakes.wake();
        result
    }

    /// Sees to it that the engine looks here at `due` at the latest.
    pub(super) fn arm(self: &Arc<Self>, state: &mut State, due: Instant) {
        if state.armed.is_none_or(|armed| due < armed) {
            state.armed = Some(due);
            self.member.timers().arm(due, self);
        }
    }
}

impl Transition<'_> {
    /// Hands an operation to the store.
    pub(super) fn submit(&mut self, op: Op) {
        self.submit_as(RequestId(0), op);
    }

    pub(super) fn submit_as(&mut self, id: RequestId, op: Op) {
        let request = Request {
            name: self.local.name.clone(),
            op,
            id,
        };
        let answer = self.local.member.store().submit(request);
        self.state.answers.extend(answer);
    }

    /// What every step ends with.
    fn settle(&mut self) {
        loop {
            while let Some(answer) = self.state.answers.pop_front() {
                self.answer(answer);
            }
            self.match_asks();
            if self.state.answers.is_empty() {
                break;
            }
        }
        self.register();
        self.arm();
    }

    /// Sees to it that the engine looks here in time.
    fn arm(&mut self) {
        let due = self.next_due();
        self.local.arm(self.state, due);
    }

    pub(super) fn next_beat(&self) -> Instant {
        self.local.next_beat_after(self.now)
    }
}

impl fmt::Debug for LockQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockQueue")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
