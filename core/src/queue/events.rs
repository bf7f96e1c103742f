//! What the client calls on the queue of a name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::client::{Load, Unfinished};
use super::lock_queue::{Answered, LockQueue, Query, Transition};
use super::ticket::Ticket;
use crate::base::clock::Instant;
use crate::base::error::{LockError, LossCause, StoreError, StoreErrorKind};
use crate::base::task::TaskId;
use crate::base::wait::Promise;
use crate::observe::operation;
use crate::store::{Op, Reply, RequestId, Ticket as TicketId};

impl LockQueue {
    /// Runs the timers at the time `armed`. Returns `false` if the queue is idle and may be retired.
    pub(super) fn due(self: &Arc<Self>, armed: Instant) -> bool {
        self.step(|step| {
            if step.state.armed.is_none_or(|current| current != armed) {
                return true;
            }
            step.state.armed = None;
            if armed.until(step.now) > step.limits.suspended {
                step.spare();
            }
            step.due();
            !step.state.is_idle() || step.now < step.state.contention.remembered(step.limits)
        })
        .unwrap_or(true)
    }

    /// Retires the queue if it is idle. Returns whether the queue is retired.
    pub(super) fn retire(&self) -> bool {
        let mut state = self.lock();
        state.retired |= state.is_idle();
        state.retired
    }

    /// Whether the name has no holds, no waiters, and no pending release of a lease that was still running at `now`.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.lock().is_over(now)
    }

    pub(super) fn load(&self) -> Load {
        let state = self.lock();
        let tickets = state.tickets.iter();
        let attempts = tickets.clone().filter_map(Ticket::attempting);
        let held = tickets.filter(|ticket| ticket.held().is_some());
        Load {
            held: held.clone().count(),
            waiting: state.waiters.len() + attempts.count(),
            oldest_renewal: held.filter_map(|ticket| ticket.log.unanswered()).min(),
        }
    }

    /// The ticket with this public half.
    pub(super) fn ticket(&self, public: u64) -> Option<TicketId> {
        let state = self.lock();
        let mut tickets = state.tickets.iter().map(|ticket| ticket.log.id);
        tickets.find(|ticket| ticket.public() == public)
    }

    /// Whether the ticket waits; `None` if it is unknown.
    pub(super) fn waits_with(&self, ticket: TicketId) -> Option<bool> {
        let state = self.lock();
        let index = state.find(ticket)?;
        Some(state.tickets[index].waiting().is_some())
    }

    pub(super) fn held(&self) -> Vec<Unfinished> {
        let (state, now) = (self.lock(), Instant::now());
        let held = state.tickets.iter().filter_map(Ticket::held);
        let named = held.map(|held| {
            let hold = &held.hold;
            let (meta, since) = (&hold.want().meta, hold.since);
            Unfinished::new(&self.name, meta, since.until(now), hold.taken())
        });
        named.collect()
    }

    /// Fails all waiters except those of running bodies. `holders` are the tasks that hold locks taken by hand.
    pub(super) fn drain(self: &Arc<Self>, holders: &HashSet<TaskId>) {
        let has_taken = |task| holders.contains(&task);
        self.step(|step| {
            step.fail(&LockError::ShutDown, |want| !want.by.is_nested(has_taken));
            step.release_kept();
        });
    }

    /// Fails the waiters and releases the holds.
    pub(super) fn close(self: &Arc<Self>) {
        let error = self.ended();
        let cause = match error {
            LockError::ShutDown => LossCause::ShutDown,
            _ => LossCause::NotRenewed,
        };
        self.step(|step| {
            step.fail(&error, |_| true);
            step.release_kept();
            for index in 0..step.state.tickets.len() {
                if let Some(held) = step.state.tickets[index].held() {
                    let valid = held.hold.is_valid();
                    let park = valid.then(|| held.hold.park(step.now));
                    step.lose(index, cause, park.unwrap_or_default());
                }
            }
        });
    }

    /// Why the client makes no more requests.
    fn ended(&self) -> LockError {
        let checked = self.core.check(&self.name);
        checked.err().unwrap_or(LockError::ShutDown)
    }

    /// Fails everything that waits for an answer, because the background thread has ended.
    pub(super) fn abandon(self: &Arc<Self>) {
        self.close();
        let error = self.ended();
        self.step(|step| {
            for mut ticket in std::mem::take(&mut step.state.tickets) {
                ticket.answer(|_| true, || Err(error.clone()), step.wakes);
            }
            for query in std::mem::take(&mut step.state.queries) {
                let _ = query.promise.complete(Err(error.clone()), step.wakes);
            }
            step.state.retired = true;
        });
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn valid_holds(&self) -> Vec<Arc<super::hold::Hold>> {
        let state = self.lock();
        let held = state.tickets.iter().filter_map(Ticket::held);
        let holds = held.map(|held| held.hold.clone());
        holds.filter(|hold| hold.is_valid()).collect()
    }

    /// Runs the timers now.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn look(self: &Arc<Self>) {
        self.step(|step| step.due());
    }

    /// Returns `None` if the name was retired.
    pub(crate) fn query(self: &Arc<Self>, op: &Op) -> Option<Answered> {
        self.step(|step| {
            if let Op::Inspect { .. } = op {
                step.tell_use();
            }
            let promise = Arc::new(Promise::new());
            let core = &step.queue.core;
            let store_timeout = core.settings().store_timeout();
            let limit = match op {
                Op::Signal { .. } => step.limits.signalled_within,
                _ => Duration::MAX,
            };
            let query = Query {
                id: core.request_id(),
                op: op.clone(),
                again: Instant::NEVER,
                sent: step.now,
                deadline: step.now.after(store_timeout),
                latest: step.now.after(limit),
                promise: promise.clone(),
            };
            step.submit_as(query.id, query.op.clone());
            step.state.queries.push(query);
            promise
        })
    }
}

impl Transition<'_> {
    pub(super) fn answer_query(&mut self, id: RequestId, result: Result<Reply, StoreError>) {
        let queries = &mut self.state.queries;
        let Some(index) = queries.iter().position(|query| query.id == id) else {
            return;
        };
        let (operation, sent) = (operation(&queries[index].op), queries[index].sent);
        self.note_answer(operation, sent, &result);
        let query = &mut self.state.queries[index];
        match &result {
            Err(error) if error.is_disconnected() && is_harmless_twice(&query.op) => return,
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                query.again = self.now.after(self.limits.retry);
                return;
            }
            _ => {}
        }
        let query = self.state.queries.swap_remove(index);
        let result = result.map_err(|error| self.lock_error(error));
        let _ = query.promise.complete(result, self.wakes);
    }

    pub(super) fn ask_queries_again(&mut self) {
        self.send_again(|query| is_harmless_twice(&query.op));
    }

    /// Skips queries that must not be sent twice; the next timer fails them.
    fn send_again(&mut self, which: impl Fn(&Query) -> bool) {
        let (mut again, now) = (Vec::new(), self.now);
        let queries = self.state.queries.iter_mut();
        for query in queries.filter(|query| now < query.latest && which(query)) {
            query.again = Instant::NEVER;
            query.sent = now;
            again.push((query.id, query.op.clone()));
        }
        for (id, op) in again {
            self.submit_as(id, op);
        }
    }

    pub(super) fn due_queries(&mut self) {
        if self.state.queries.is_empty() {
            return;
        }
        let (now, spared) = (self.now, self.state.spared);
        self.send_again(|query| query.again <= now);
        let late = |query: &Query| query.ends(spared) <= now;
        if !self.state.queries.iter().any(late) {
            return;
        }
        let error = self.unavailable(self.silence(None));
        for query in self.state.queries.extract_if(.., |query| late(query)) {
            let _ = query.promise.complete(Err(error.clone()), self.wakes);
        }
    }
}

/// A second `Force` could break the lock of the next holder, and a second `Delete` could drop signals added since. A
/// second `Kick` would report that it broke nothing.
fn is_harmless_twice(op: &Op) -> bool {
    !matches!(op, Op::Force | Op::Kick { .. } | Op::Delete)
}
