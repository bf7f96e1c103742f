//! [`LockQueue`]: the state of one name in this process, and the frame of each transition.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::client::ClientCore;
use super::retain::Contention;
use super::ticket::{Ticket, TicketState};
use super::waiter::Waiter;
use crate::base::clock::Instant;
use crate::base::error::{LockError, StoreError};
use crate::base::name::Name;
use crate::base::sync::{Mutex, MutexGuard};
use crate::base::wait::{DeferredWakes, Promise, lock};
use crate::lease::Terms;
use crate::observe::LockLabels;
use crate::observer::Metric;
use crate::store::{
    self, Answer, Limits, Op, Reply, Request, RequestId, Retain, Ticket as TicketId,
};

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
    /// All holds of a client are renewed at multiples of this time, so that their renewals form one batch.
    beat: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// A caller with a reference to a retired queue must look the name up again.
    pub(super) retired: bool,
    pub(super) armed: Option<Instant>,
    /// Until this time, no waiter fails because the store does not answer.
    pub(super) spared: Instant,
    /// At most the earliest deadline of `waiters`.
    pub(super) first_deadline: Option<Instant>,
    pub(super) look_at_workers: Option<Instant>,
    pub(super) warned_of: u64,
    pub(super) waiters: VecDeque<Arc<Waiter>>,
    /// Those that wait have the same order as their waiters.
    pub(super) tickets: Vec<Ticket>,
    pub(super) queries: Vec<Query>,
    pub(super) contention: Contention,
    outbox: VecDeque<Request>,
    answers: VecDeque<Answer>,
}

impl State {
    pub(super) fn is_idle(&self) -> bool {
        self.is_over(Instant::START)
    }

    /// Whether there are no holds, no waiters, and no pending release of a lease that was still running at `now`.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let over = |ticket: &Ticket| match &ticket.state {
            TicketState::Leaving(leaving) => ticket.pending.is_empty() && leaving.over <= now,
            _ => false,
        };
        self.waiters.is_empty() && self.queries.is_empty() && self.tickets.iter().all(over)
    }

    pub(super) fn find(&self, id: TicketId) -> Option<usize> {
        self.tickets.iter().position(|ticket| ticket.log.id == id)
    }
}

#[derive(Debug)]
pub(super) struct Query {
    pub(super) id: RequestId,
    pub(super) op: Op,
    pub(super) again: Instant,
    pub(super) sent: Instant,
    pub(super) deadline: Instant,
    /// When to send the last copy: a later one might be executed twice.
    pub(super) latest: Instant,
    pub(super) promise: Answered,
}

impl Query {
    pub(super) fn ends(&self, spared: Instant) -> Instant {
        self.deadline.max(spared).min(self.latest)
    }
}

pub(crate) type Answered = Arc<Promise<Result<Reply, LockError>>>;

/// One transition. Its requests are sent when it ends, before the next one can begin; then tasks are woken, with no
/// mutex locked.
pub(super) struct Transition<'a> {
    pub(super) queue: &'a Arc<LockQueue>,
    pub(super) state: &'a mut State,
    pub(super) now: Instant,
    pub(super) limits: &'static Limits,
    pub(super) wakes: &'a mut DeferredWakes,
}

impl LockQueue {
    pub(super) fn new(name: Name, core: Arc<ClientCore>) -> Arc<Self> {
        Arc::new(Self {
            name,
            number: core.request_id().0,
            beat: core.settings().lease() / store::watchdog::RENEWALS,
            core,
            state: Mutex::default(),
        })
    }

    pub(super) fn lease(&self) -> Duration {
        self.core.settings().lease()
    }

    pub(super) fn store_timeout(&self) -> Duration {
        self.core.settings().store_timeout()
    }

    pub(super) fn lease_of(&self, terms: Terms) -> Duration {
        let lease = self.lease();
        terms.expire.map_or(lease, |expire| expire.min(lease))
    }

    pub(super) fn next_renewal_after(&self, now: Instant) -> Instant {
        now.next_multiple(self.beat)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
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
        let mut state = self.lock();
        if state.retired {
            return None;
        }
        let mut wakes = DeferredWakes::default();
        let mut step = Transition {
            queue: self,
            state: &mut state,
            now: Instant::now(),
            limits: self.core.limits,
            wakes: &mut wakes,
        };
        let result = run(&mut step);
        step.settle();
        drop(state);
        self.core.store().flush();
        wakes.wake();
        Some(result)
    }
}

impl Transition<'_> {
    pub(super) fn submit(&mut self, op: Op) {
        self.submit_as(RequestId(0), op);
    }

    pub(super) fn submit_as(&mut self, id: RequestId, op: Op) {
        let name = self.queue.name.clone();
        self.state.outbox.push_back(Request { name, op, id });
    }

    pub(super) fn send(&mut self, index: usize) {
        let (lease, renewal) = (self.queue.lease(), self.queue.next_renewal_after(self.now));
        let ticket = &mut self.state.tickets[index];
        let mut op = ticket.request(self.now, lease, self.limits);
        if self.queue.core.settings().skips()
            && let Op::Acquire { share, .. } = &mut op
        {
            *share = share.without_units();
        }
        ticket.again = match &ticket.state {
            TicketState::Held(held) => held.kept_again().unwrap_or(renewal),
            _ => Instant::NEVER,
        };
        self.submit(op);
    }

    pub(super) fn begin(&mut self, lease: Duration, state: TicketState) {
        let mut ticket = Ticket::new(self.now, lease, state);
        if ticket.want().is_some_and(|want| self.may_retain(want)) {
            ticket.retain = Retain::InUse;
        }
        self.state.tickets.push(ticket);
        self.send(self.state.tickets.len() - 1);
    }

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
        if self.state.armed.is_none_or(|armed| due < armed) {
            self.state.armed = Some(due);
            self.queue.core.timers.arm(due, self.queue);
        }
    }

    fn exchange(&mut self) {
        loop {
            while let Some(request) = self.state.outbox.pop_front() {
                let answer = self.queue.core.store().submit(request);
                self.state.answers.extend(answer);
            }
            match self.state.answers.pop_front() {
                Some(answer) => self.answer(answer),
                None => return,
            }
        }
    }

    pub(super) fn count(&mut self, metric: Metric, labels: LockLabels) {
        if let Some(observer) = self.queue.core.observer().cloned() {
            self.wakes
                .observe(move || observer.add(metric, &labels.pairs(), 1));
        }
    }

    pub(super) fn note_answer(
        &mut self,
        op: [(&'static str, &'static str); 1],
        sent: Instant,
        result: &Result<Reply, StoreError>,
    ) {
        let took = sent.until(self.now);
        let is_lost = matches!(result, Err(error) if error.is_disconnected());
        // An immediate answer came from a store in this process, or from one that is not connected yet.
        if !is_lost
            && !took.is_zero()
            && let Some(observer) = self.queue.core.observer().cloned()
        {
            let metric = Metric::StoreOperationDuration;
            self.wakes
                .observe(move || observer.record(metric, &op, took));
        }
    }
}
