//! [`LockQueue`]: the state of one name in this process, and the frame of every transition.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ticket::{Ticket, TicketState};
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::error::{LockError, StoreError};
use crate::lease::{RenewalSchedule, Terms};
use crate::member::ClientCore;
use crate::name::Name;
use crate::observe::LockLabels;
use crate::observer::Metric;
use crate::store::{Answer, Op, Reply, Request, RequestId, Ticket as TicketId};
use crate::sync::{Mutex, MutexGuard};
use crate::wait::{DeferredWakes, Promise, lock};

/// A client of this process, whose names have a [`LockQueue`] each.
pub(crate) type Member = ClientCore<LockQueue>;

/// Keeps a client open. The client ends when the last reference to this value and the last guard are dropped.
pub(crate) struct OpenClient(pub(crate) Arc<Member>);

impl Drop for OpenClient {
    fn drop(&mut self) {
        self.0.orphan();
    }
}

impl fmt::Debug for OpenClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenClient").field(&self.0.id()).finish()
    }
}

/// The queue of one name in one process.
pub(crate) struct LockQueue {
    name: Name,
    member: Arc<Member>,
    schedule: RenewalSchedule,
    /// The maximum time by which a lease ends earlier here than in the store.
    shortening: Duration,
    state: Mutex<State>,
}

/// The state of a [`LockQueue`], protected by its mutex.
#[derive(Default)]
pub(super) struct State {
    /// The queue was removed from the registry. A caller that still has a reference to it must look the name up again.
    pub(super) retired: bool,
    /// When the engine will run this queue next.
    pub(super) armed: Option<Instant>,
    /// Before this time, no waiter fails because the store does not answer.
    pub(super) spared: Option<Instant>,
    /// Not later than the earliest deadline of `waiters`.
    pub(super) first_deadline: Option<Instant>,
    /// When to look next whether `waiters` block all workers of the holder's runtime.
    pub(super) look_at_workers: Option<Instant>,
    /// The fencing token of the last hold that the program was warned of because of blocked workers.
    pub(super) warned_of: u64,
    pub(super) waiters: VecDeque<Arc<Waiter>>,
    /// Some of `waiters` may have an owner that the store knows.
    pub(super) owners: bool,
    /// All tickets. The waiting tickets are in the order of their waiters.
    pub(super) tickets: Vec<Ticket>,
    pub(super) queries: Vec<Query>,
    /// The requests of this transition, sent in this order when it ends.
    outbox: VecDeque<Request>,
    /// Answers that the store gave at once, and that are not handled yet.
    answers: VecDeque<Answer>,
}

impl State {
    /// Whether the name has no holds, no waiters and no pending releases.
    pub(super) fn is_idle(&self) -> bool {
        self.tickets.is_empty() && self.has_no_demand()
    }

    /// Whether the name has no waiters in the queue and no queries.
    pub(super) fn has_no_demand(&self) -> bool {
        self.waiters.is_empty() && self.queries.is_empty()
    }

    /// Whether the name has no holds and no waiters, and the leases of its pending releases have ended.
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

/// A query about the name.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) id: RequestId,
    pub(super) op: Op,
    /// When to send the query again, if the store was busy.
    pub(super) again: Instant,
    /// When the query was last sent.
    pub(super) sent: Instant,
    pub(super) deadline: Instant,
    /// After this time the query may not be sent again, so the caller gets an error.
    pub(super) latest: Instant,
    pub(super) promise: Answered,
}

impl Query {
    /// When the caller gets an error. `spared` is the end of the extra time that the store has to answer.
    pub(super) fn ends(&self, spared: Instant) -> Instant {
        self.deadline.max(spared).min(self.latest)
    }
}

/// A promise of the store's answer.
pub(crate) type Answered = Arc<Promise<Result<Reply, LockError>>>;

/// One transition: the state, the time at which it happens, and its effects. Requests are sent when it ends, before
/// another transition can begin. Tasks are woken after that, when no mutex is locked.
pub(super) struct Transition<'a> {
    pub(super) queue: &'a Arc<LockQueue>,
    pub(super) state: &'a mut State,
    pub(super) now: Instant,
    pub(super) wakes: &'a mut DeferredWakes,
}

impl LockQueue {
    pub(super) fn of(name: Name, member: Arc<Member>) -> Self {
        let lease = member.settings().lease();
        Self {
            name,
            schedule: RenewalSchedule::of(lease),
            shortening: Instant::START
                .validity(lease)
                .until(Instant::START.after(lease)),
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
        self.member.settings().lease()
    }

    /// The lease that a request with these `terms` asks for.
    pub(super) fn lease_of(&self, terms: Terms) -> Duration {
        let lease = self.lease();
        terms.expire.map_or(lease, |expire| expire.min(lease))
    }

    pub(super) fn shortening(&self) -> Duration {
        self.shortening
    }

    pub(super) fn next_renewal_after(&self, now: Instant) -> Instant {
        self.schedule.after(now)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Runs one transition; `None` if the name was retired, or in a forked child, which has only a copy of the queue.
    pub(super) fn step<T>(
        self: &Arc<Self>,
        run: impl FnOnce(&mut Transition<'_>) -> T,
    ) -> Option<T> {
        // At the fork, another thread of the parent may have locked the mutex.
        if self.member.is_forked() {
            return None;
        }
        let mut state = self.lock();
        if state.retired {
            return None;
        }
        let mut wakes = DeferredWakes::default();
        let mut step = Transition {
            queue: self,
            state: &mut state,
            now: Instant::now(),
            wakes: &mut wakes,
        };
        let result = run(&mut step);
        step.settle();
        drop(state);
        self.member.store().flush();
        wakes.wake();
        Some(result)
    }

    /// Makes the engine run this queue at `due` at the latest.
    pub(super) fn arm(self: &Arc<Self>, state: &mut State, due: Instant) {
        if state.armed.is_none_or(|armed| due < armed) {
            state.armed = Some(due);
            self.member.timers().arm(due, self);
        }
    }
}

impl Transition<'_> {
    /// Adds `op` to the requests that are sent to the store when the transition ends.
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
        ticket.again = match ticket.held() {
            Some(_) => renewal,
            None => Instant::NEVER,
        };
        self.submit(op);
    }

    /// Adds a ticket and sends its first request.
    pub(super) fn begin(&mut self, lease: Duration, state: TicketState) {
        self.state.tickets.push(Ticket::new(self.now, lease, state));
        self.send(self.state.tickets.len() - 1);
    }

    /// Ends the transition: sends its requests, matches tickets to waiters, and sets the timer.
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

    /// Submits the collected requests, and handles the answers that come at once.
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

    /// Increases the observer's counter `metric` by one, after the transition.
    pub(super) fn count(&mut self, metric: Metric, labels: LockLabels) {
        if let Some(observer) = self.queue.member.observer() {
            let observer = observer.clone();
            self.wakes
                .observe(move || observer.add(metric, &labels.pairs(), 1));
        }
    }

    /// Reports to the observer how long the store took to answer `op`, which was sent at `sent`. A lost connection is no
    /// answer.
    pub(super) fn note_answer(
        &mut self,
        op: [(&'static str, &'static str); 1],
        sent: Instant,
        result: &Result<Reply, StoreError>,
    ) {
        let answered = !matches!(result, Err(error) if error.is_disconnected());
        let (member, took) = (&self.queue.member, sent.until(self.now));
        // An answer that took no time came from no server, but from a store in this process, or from one that is not
        // connected yet (`connect_lazily`) and answers a release itself.
        if let Some(observer) = member.observer()
            && answered
            && !took.is_zero()
        {
            let observer = observer.clone();
            self.wakes.observe(move || {
                observer.record(Metric::StoreOperationDuration, &op, took);
            });
        }
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
