//! [`LockQueue`]: the state of one name in this process, and the frame of every transition.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ticket::{Ticket, TicketState};
use super::waiter::{Waiter, Want};
use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::{RenewalSchedule, Terms};
use crate::member::ClientCore;
use crate::name::Name;
use crate::store::{Answer, Loan, Op, Reply, Request, RequestId, Ticket as TicketId};
use crate::sync::{Mutex, MutexGuard};
use crate::wait::{DeferredWakes, Promise, lock};

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
    /// Taken out of the registry: whoever still has it must look the name up again.
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
    /// All tickets. Those that wait are in the order of their waiters.
    pub(super) tickets: Vec<Ticket>,
    pub(super) queries: Vec<Query>,
    /// What this transition asks of the store; sent in this order when it ends.
    outbox: VecDeque<Request>,
    /// Answers that came at once and are not handled yet.
    answers: VecDeque<Answer>,
}

impl State {
    /// Whether nothing is held, wanted or being released.
    pub(super) fn is_idle(&self) -> bool {
        self.tickets.is_empty() && self.has_no_demand()
    }

    /// Whether nobody waits for anything but an answer to an attempt or a release.
    pub(super) fn has_no_demand(&self) -> bool {
        self.waiters.is_empty() && self.queries.is_empty()
    }

    /// Whether nobody wants anything any more, and the leases of what is being released have ended.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let over = |ticket: &Ticket| match &ticket.state {
            TicketState::Leaving(leaving) => leaving.unlocker.is_none() && leaving.over <= now,
            _ => false,
        };
        self.has_no_demand() && self.tickets.iter().all(over)
    }

    pub(super) fn find(&self, id: TicketId) -> Option<usize> {
        self.tickets.iter().position(|ticket| ticket.id() == id)
    }
}

/// A question about the name.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) id: RequestId,
    pub(super) op: Op,
    /// When to ask again, if the store was busy.
    pub(super) again: Instant,
    pub(super) deadline: Instant,
    pub(super) promise: Answered,
}

/// Told what the store answers.
pub(crate) type Answered = Arc<Promise<Result<Reply, LockError>>>;

/// One transition: the state, the time it happens at, and what follows from it. Requests are sent when it ends, while
/// nobody else can begin another; tasks are woken after that, when no lock is held.
pub(super) struct Transition<'a> {
    pub(super) queue: &'a Arc<LockQueue>,
    pub(super) state: &'a mut State,
    pub(super) now: Instant,
    pub(super) wakes: &'a mut DeferredWakes,
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

    pub(super) fn next_renewal_after(&self, now: Instant) -> Instant {
        self.schedule.after(now)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The state, for one transition; `None` if the name was retired.
    pub(super) fn open(&self) -> Option<MutexGuard<'_, State>> {
        let state = self.lock();
        (!state.retired).then_some(state)
    }

    /// Runs one transition; `None` if the name was retired.
    pub(super) fn step<T>(
        self: &Arc<Self>,
        run: impl FnOnce(&mut Transition<'_>) -> T,
    ) -> Option<T> {
        let state = self.open()?;
        Some(self.go_on(state, Instant::now(), DeferredWakes::default(), run))
    }

    /// Runs one transition that has begun already, and carries out what follows from it.
    pub(super) fn go_on<T>(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        now: Instant,
        mut wakes: DeferredWakes,
        run: impl FnOnce(&mut Transition<'_>) -> T,
    ) -> T {
        self.end_loan(&mut state);
        let mut step = Transition {
            queue: self,
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
    /// Asks the store for `op` when the transition ends.
    pub(super) fn submit(&mut self, op: Op) {
        self.submit_as(RequestId(0), op);
    }

    pub(super) fn submit_as(&mut self, id: RequestId, op: Op) {
        let name = self.queue.name.clone();
        self.state.outbox.push_back(Request { name, op, id });
    }

    /// Sends the request of the ticket at `index`, for the first time or again.
    pub(super) fn send(&mut self, index: usize) {
        let (lease, renewal) = (self.queue.lease(), self.next_renewal());
        let ticket = &mut self.state.tickets[index];
        let op = ticket.request(self.now, lease);
        if ticket.held().is_some() {
            ticket.again = renewal;
        }
        if let Some(op) = op {
            self.submit(op);
        }
    }

    /// A new ticket, whose request is sent.
    pub(super) fn begin(&mut self, lease: Duration, state: TicketState) {
        self.state.tickets.push(Ticket::new(self.now, lease, state));
        self.send(self.state.tickets.len() - 1);
    }

    /// What every transition ends with.
    fn settle(&mut self) {
        loop {
            self.exchange();
            self.match_tickets();
            if self.state.outbox.is_empty() {
                break;
            }
        }
        self.note_registered();
        let due = self.next_due();
        self.queue.arm(self.state, due);
    }

    /// Hands over what is to be sent, and handles the answers that come at once.
    fn exchange(&mut self) {
        loop {
            while let Some(request) = self.state.outbox.pop_front() {
                let answer = self.queue.member.store().submit(request);
                self.state.answers.extend(answer);
            }
            match self.state.answers.pop_front() {
                Some(answer) => self.answer(answer),
                None => return,
            }
        }
    }

    pub(super) fn lease_for(&self, want: &Want) -> Duration {
        self.queue.lease_of(want.terms)
    }

    pub(super) fn next_renewal(&self) -> Instant {
        self.queue.next_renewal_after(self.now)
    }
}

impl fmt::Debug for LockQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockQueue")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
