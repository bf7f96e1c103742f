//! The store answers a request of a ticket, or sends a message about one.

use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::{Granted, TicketState};
use crate::error::{LockError, LockKind, LossCause, StoreError, StoreErrorKind};
use crate::observe::{HOLD, operation};
use crate::observer::Metric;
use crate::store::limits::{NEAR_MS, TOKENS_OF_A_GRANT};
use crate::store::{Answer, Lease, Message, Mode, Op, Reply, Share};

/// The delay before a refused renewal or release is sent again.
pub(super) const RETRY: Duration = Duration::from_millis(200);

/// An answer to a ticket's request, reduced to the fields that matter here.
pub(super) struct Asked {
    pub(super) lease: Lease,
    pub(super) result: Result<Reply, StoreError>,
}

impl Transition<'_> {
    pub(super) fn answer(&mut self, answer: Answer) {
        let Answer { request, result } = answer;
        let operation = operation(&request.op);
        let (lease, acquires) = match request.op {
            Op::Acquire { lease, mode, .. } => (lease, Some(mode)),
            Op::Adopt { lease, .. } => (lease, Some(Mode::Try)),
            Op::Touch { lease, .. } => (lease, None),
            Op::Release { ticket, .. } => return self.answer_release(ticket, operation, result),
            Op::Force { .. }
            | Op::Kick { .. }
            | Op::Refresh { .. }
            | Op::Raise { .. }
            | Op::Signal { .. }
            | Op::Probe { .. }
            | Op::Delete
            | Op::Inspect => return self.answer_query(request.id, result),
        };
        let asked = Asked { lease, result };
        if let Some(index) = self.state.find(lease.ticket) {
            if let Some(sent) = self.state.tickets[index].log.at(lease.counter) {
                self.note_answer(operation, sent, &asked.result);
            }
            self.answer_ticket(index, acquires, asked);
        }
    }

    /// Handles the answer to a request of the ticket at `index`. `acquires`: the mode, if the request was an acquire.
    fn answer_ticket(&mut self, index: usize, acquires: Option<Mode>, asked: Asked) {
        let ticket = &mut self.state.tickets[index];
        let unanswered = matches!(&asked.result, Err(error) if error.is_disconnected());
        // After an acquire without an answer, a copy of it may still reach the store.
        ticket.log.late |= unanswered && acquires.is_some();
        let tries = acquires == Some(Mode::Try);
        match &ticket.state {
            TicketState::Attempting(_) if tries => self.answer_attempt(index, asked),
            TicketState::Waiting(_) if !tries => self.answer_waiting(index, asked),
            // Replies and messages may overtake each other: the answer to a request that was sent before the grant does
            // not concern the hold.
            TicketState::Held(held) if !tries && asked.lease.counter > held.granted => {
                self.answer_held(index, asked);
            }
            // The ticket was withdrawn before this answer came, and its release is in flight; or the answer is old.
            _ => {}
        }
    }

    pub(super) fn lock_error(&self, error: StoreError) -> LockError {
        let settings = self.queue.member().settings();
        settings.lock_error(self.queue.name(), error)
    }

    pub(super) fn unavailable(&self, source: StoreError) -> LockError {
        let settings = self.queue.member().settings();
        settings.unavailable(self.queue.name(), source)
    }

    /// The error if the name is in use as another lock: one of this `capacity`, whose tickets take tokens or not.
    pub(super) fn mismatch(&self, share: &Share, capacity: u32, takes: bool) -> LockError {
        let expected = (share.kind, share.capacity);
        let found = (LockKind::of(capacity, takes), capacity);
        LockError::mismatch(self.queue.name().to_string(), expected, found)
    }

    pub(super) fn too_slow(&self) -> LockError {
        let message =
            "the store took longer to answer than the lock may be held: use a longer `expire`";
        self.unavailable(StoreError::new(StoreErrorKind::Busy, message))
    }

    pub(super) fn answer_waiting(&mut self, index: usize, asked: Asked) {
        let reply = match asked.result {
            Ok(reply) => reply,
            Err(error) => return self.waiting_failed(index, error),
        };
        let ticket = &mut self.state.tickets[index];
        match reply {
            Reply::Granted { token, signal } => {
                let granted = ticket.granted(asked.lease, token, signal);
                ticket.log.executed(asked.lease.counter);
                if self.now >= granted.valid {
                    return self.granted_too_late(index);
                }
                self.granted(index, &granted);
            }
            Reply::Queued {
                position,
                again,
                holder,
            } => {
                ticket.log.executed(asked.lease.counter);
                ticket.again = self.now.after(again);
                if let Some(waiting) = ticket.waiting_mut() {
                    waiting.queued = true;
                    waiting.trouble = None;
                    waiting.holder = holder;
                    waiting.place = Some(position);
                }
            }
            // The store has lost the ticket or refuses it, so the waiter continues with a new ticket. No correct store
            // gives either of these answers to the first request of a ticket.
            Reply::Gone | Reply::Refused if ticket.log.count() > 1 => {
                self.misplaced(index);
                self.forget(index);
            }
            Reply::Mismatch { capacity, takes } => {
                let ticket = &self.state.tickets[index];
                let share = ticket.waiting().map(|waiting| &waiting.share);
                if let Some(error) = share.map(|share| self.mismatch(share, capacity, takes)) {
                    self.refuse(index, error);
                }
                self.forget(index);
            }
            Reply::TooMany => {
                self.refuse(index, LockError::too_many_permits());
                self.forget(index);
            }
            other => {
                let source = nonsense(&other);
                self.refuse(index, self.unavailable(source));
                self.withdraw(index);
            }
        }
    }

    fn waiting_failed(&mut self, index: usize, error: StoreError) {
        let ticket = &mut self.state.tickets[index];
        let Some(waiting) = ticket.waiting_mut() else {
            return;
        };
        match error.kind() {
            // The request is sent again after the reconnect. `due` ends the wait when the store timeout is over.
            StoreErrorKind::Disconnected => {}
            // A temporary error.
            StoreErrorKind::Busy => {
                waiting.trouble = Some(error);
                ticket.again = self.now.after(RETRY);
            }
            // The ticket has a place in the queue, so the request is sent again instead of failing the waiter.
            StoreErrorKind::Refused if waiting.queued => {
                waiting.trouble = Some(error);
                ticket.again = self.now.after(RETRY);
            }
            // The name's data or the client's rights are wrong: every other request would fail the same way.
            StoreErrorKind::Foreign | StoreErrorKind::Forbidden => {
                self.withdraw(index);
                let error = self.lock_error(error);
                self.fail(&error, |_| true);
            }
            // Only this ticket failed. Other tickets may have places, or may reach a server that has memory again. The
            // next waiter gets a ticket of its own.
            _ => {
                let error = self.lock_error(error);
                self.refuse(index, error);
                self.withdraw(index);
            }
        }
    }

    /// The ticket at `index` has lost its place in the store's queue. A waiter that relies on its place fails, because it
    /// may have missed a signal.
    fn misplaced(&mut self, index: usize) {
        let ticket = &self.state.tickets[index];
        let queued = ticket.waiting().is_some_and(|waiting| waiting.queued);
        let own = self.waiter_of(ticket).filter(|_| queued);
        if own.is_some_and(|own| self.state.waiters[own].want.relies) {
            let source = StoreError::new(
                StoreErrorKind::Refused,
                "the store has lost the place in the queue",
            );
            self.refuse(index, self.unavailable(source));
        }
    }

    /// Fails the waiter of the ticket at `index`.
    pub(super) fn refuse(&mut self, index: usize, error: LockError) {
        if let Some(waiter) = self.take_waiter_of(index) {
            waiter.fail(error, self.wakes);
        }
    }

    pub(super) fn answer_held(&mut self, index: usize, asked: Asked) {
        let ticket = &mut self.state.tickets[index];
        let TicketState::Held(held) = &mut ticket.state else {
            return;
        };
        match asked.result {
            // If the token differs, the store passed the lock on, and granted this ticket again later: our hold has
            // ended.
            Ok(Reply::Granted { token, .. })
                if token == held.hold.grant().token / TOKENS_OF_A_GRANT =>
            {
                if let Some(sent) = ticket.log.at(asked.lease.counter) {
                    held.hold.renewed(sent.validity(asked.lease.hold));
                }
                ticket.log.executed(asked.lease.counter);
                held.forced = false;
                if held.hold.is_valid() {
                    held.refreshed(asked.lease.counter, self.wakes);
                } else {
                    // The hold has already marked itself as lost, with the true cause.
                    self.lose(index, LossCause::NotRenewed);
                }
            }
            Ok(_) => self.lose_unknown(index),
            Err(error) if error.kind() == StoreErrorKind::Foreign => self.lose_unknown(index),
            Err(error) => {
                // The hold is valid until its deadline. After a reconnect every ticket is touched anyway.
                ticket.again = ticket.again.min(self.now.after(RETRY));
                self.warn_of_renewal(index, error);
            }
        }
    }

    fn warn_of_renewal(&mut self, index: usize, error: StoreError) {
        if let Some(held) = self.state.tickets[index].held() {
            let labels = held.hold.grant().labels();
            self.count(Metric::RenewalFailures, labels);
        }
        let name = self.queue.name().clone();
        if let Some(others) = self.queue.member().failed_renewals.pass(self.now) {
            self.wakes.report(move || {
                tracing::warn!(target: HOLD, %name, %error, others, "renewal failed, trying again");
            });
        }
    }

    pub(super) fn told(&mut self, message: &Message) {
        let Some(index) = message.ticket().and_then(|id| self.state.find(id)) else {
            return;
        };
        let ticket = &mut self.state.tickets[index];
        match (&ticket.state, message) {
            (
                TicketState::Waiting(_),
                &Message::Grant {
                    token,
                    counter,
                    hold,
                    ref signal,
                    ..
                },
            ) => {
                let granted = Granted {
                    token,
                    counter,
                    valid: ticket.log.validity(counter, hold.min(ticket.lease)),
                    provisional: true,
                    lease: hold,
                    signal: signal.clone(),
                };
                self.told_grant(index, &granted);
            }
            (TicketState::Waiting(_), Message::Ask { .. }) => self.send(index),
            (TicketState::Waiting(_), Message::Near { .. }) => {
                ticket.again = ticket
                    .again
                    .min(self.now.after(Duration::from_millis(NEAR_MS)));
            }
            // The message may be outdated, so the answer to a renewal decides whether the hold is lost.
            (TicketState::Held(_), Message::Lost { .. }) => {
                if let Some(held) = ticket.held_mut() {
                    held.forced = true;
                }
                self.send(index);
            }
            (TicketState::Held(held), Message::Refresh { expire, .. }) => {
                held.hold.restart(Some(*expire), self.now);
                self.send(index);
            }
            _ => {}
        }
    }

    /// Resends every request that may not have arrived. Waiting tickets keep the order of their waiters.
    pub(super) fn reconnected(&mut self) {
        let mut order: Vec<_> = (0..self.state.tickets.len()).collect();
        order.sort_by_key(|&index| self.state.tickets[index].rank());
        for index in order {
            // The first request of a resting attempt is sent later.
            if !self.state.tickets[index].is_resting() {
                self.send(index);
            }
        }
        self.ask_queries_again();
    }
}

pub(super) fn nonsense(reply: &Reply) -> StoreError {
    StoreError::new(
        StoreErrorKind::Protocol,
        format!("unexpected reply {reply:?}"),
    )
}
