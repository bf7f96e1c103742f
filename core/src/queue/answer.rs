//! Handles replies to a ticket's requests, and messages about tickets.

use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::{Granted, Pending, TicketState};
use crate::base::error::{LockError, LockKind, LossCause, StoreError, StoreErrorKind};
use crate::observe::{HOLD, operation};
use crate::observer::Metric;
use crate::store::{Answer, Lease, Message, Mode, Op, Reply, Share};

impl Transition<'_> {
    pub(super) fn answer(&mut self, answer: Answer) {
        let Answer { request, result } = answer;
        let operation = operation(&request.op);
        let (lease, acquires) = match request.op {
            Op::Acquire { lease, mode, .. } => (lease, Some(mode)),
            Op::Adopt { lease, .. } => (lease, Some(Mode::Try)),
            Op::Touch { lease, .. } => (lease, None),
            Op::Release { ticket, .. } => return self.answer_release(ticket, operation, result),
            _ => return self.answer_query(request.id, result),
        };
        let Some(index) = self.state.find(lease.ticket) else {
            return;
        };
        if let Some(sent) = self.state.tickets[index].log.at(lease.counter) {
            self.note_answer(operation, sent, &result);
        }
        let ticket = &mut self.state.tickets[index];
        let unanswered = matches!(&result, Err(error) if error.is_disconnected());
        // A copy of an unanswered acquire may still reach the store.
        ticket.log.late |= unanswered && acquires.is_some();
        let tries = acquires == Some(Mode::Try);
        match &ticket.state {
            TicketState::Attempting(attempt) if tries => {
                let attempt = attempt.clone();
                match result {
                    Ok(reply) => self.answer_attempt(index, &attempt, lease, reply),
                    Err(error) => self.request_failed(index, error),
                }
            }
            TicketState::Waiting(_) if !tries => match result {
                Ok(reply) => self.answer_waiting(index, lease, reply),
                Err(error) => self.request_failed(index, error),
            },
            // Messages may overtake replies. An answer to a request from before the grant says nothing about the hold.
            TicketState::Held(held) if !tries && lease.counter > held.granted => {
                self.answer_held(index, lease, result);
            }
            // Either the answer is old, or the ticket was withdrawn and its release is in flight.
            _ => {}
        }
    }

    pub(super) fn lock_error(&self, error: StoreError) -> LockError {
        let settings = self.queue.core.settings();
        settings.lock_error(&self.queue.name, error)
    }

    pub(super) fn unavailable(&self, source: StoreError) -> LockError {
        let settings = self.queue.core.settings();
        settings.unavailable(&self.queue.name, source)
    }

    /// The error of a request for `share` that the store refused.
    pub(super) fn refused(&self, share: &Share, reply: &Reply) -> LockError {
        match *reply {
            Reply::Mismatch { capacity, takes } => {
                let expected = (share.kind, share.capacity);
                let found = (LockKind::of(capacity, takes), capacity);
                LockError::mismatch(self.queue.name.to_string(), expected, found)
            }
            Reply::TooMany => LockError::too_many_permits(),
            _ => self.unavailable(StoreError::new(
                StoreErrorKind::Protocol,
                format!("unexpected reply {reply:?}"),
            )),
        }
    }

    fn answer_waiting(&mut self, index: usize, lease: Lease, reply: Reply) {
        let ticket = &mut self.state.tickets[index];
        match reply {
            Reply::Granted { token, signal } => {
                let granted = ticket.granted(lease, token, signal);
                self.granted(index, &granted);
            }
            Reply::Queued {
                position,
                again,
                holder,
            } => {
                ticket.log.executed(lease.counter);
                // A lost notification only delays what a watcher learns.
                let watches = ticket.waiting().is_some_and(|it| it.share == Share::WATCH);
                let least = if watches { lease.place / 3 } else { again };
                ticket.again = self.now.after(again.max(least));
                ticket.trouble = None;
                if let Some(waiting) = ticket.waiting_mut() {
                    waiting.queued = true;
                    waiting.holder = holder;
                    waiting.place = Some(position);
                }
                self.note_contention();
            }
            // The client that keeps the lock, which is one of another kind, was asked to release it.
            Reply::Kept { .. } => {
                ticket.log.executed(lease.counter);
                ticket.again = self.now.after(self.limits.recall);
            }
            // The store has lost the ticket, so the waiter continues with a new one. A correct store never answers the
            // first request of a ticket like this.
            Reply::Gone | Reply::Refused if ticket.log.count() > 1 => {
                self.misplaced(index);
                self.forget(index);
            }
            reply => {
                if let Some(waiting) = ticket.waiting() {
                    let share = waiting.share;
                    self.refuse(index, self.refused(&share, &reply));
                }
                match reply {
                    Reply::Mismatch { .. } | Reply::TooMany => self.forget(index),
                    _ => self.withdraw(index),
                }
            }
        }
    }

    /// Handles an error for a ticket that waits or is being attempted.
    fn request_failed(&mut self, index: usize, error: StoreError) {
        let ticket = &mut self.state.tickets[index];
        let is_waiting = ticket.waiting().is_some();
        match error.kind() {
            // The request is resent after the reconnect. `due` ends the wait after the store timeout.
            StoreErrorKind::Disconnected => {}
            // A waiter with a place in the queue can wait for a later answer.
            kind if kind == StoreErrorKind::Busy
                || kind == StoreErrorKind::Refused && ticket.is_queued() =>
            {
                ticket.trouble = Some(error);
                ticket.again = self.now.after(self.limits.retry);
            }
            // Every other request would fail the same way.
            StoreErrorKind::Foreign | StoreErrorKind::Forbidden if is_waiting => {
                self.withdraw(index);
                self.fail(&self.lock_error(error), |_| true);
            }
            // Other tickets may have a place, or may be on a server with enough memory.
            _ => self.fail_ticket(index, self.lock_error(error)),
        }
    }

    pub(super) fn fail_ticket(&mut self, index: usize, error: LockError) {
        self.refuse(index, error);
        self.withdraw(index);
    }

    /// Fails a waiter that relies on its place, because it may have missed a signal.
    fn misplaced(&mut self, index: usize) {
        let ticket = &self.state.tickets[index];
        let own = self.waiter_of(ticket).filter(|_| ticket.is_queued());
        if own.is_some_and(|own| self.state.waiters[own].want.relies) {
            let message = "the store has lost the place in the queue";
            let source = StoreError::new(StoreErrorKind::Refused, message);
            self.refuse(index, self.unavailable(source));
        }
    }

    pub(super) fn refuse(&mut self, index: usize, error: LockError) {
        if let Some(waiter) = self.take_waiter_of(index) {
            waiter.fail(error, self.wakes);
        }
    }

    fn answer_held(&mut self, index: usize, lease: Lease, result: Result<Reply, StoreError>) {
        let ticket = &mut self.state.tickets[index];
        let TicketState::Held(held) = &mut ticket.state else {
            return;
        };
        match result {
            // With another token, the store had passed the lock on, and has granted it to this ticket again.
            // Touches for retention give new tokens. While the lease is valid, no other ticket can have had one.
            Ok(Reply::Granted { token, .. })
                if token == held.base
                    || held.retention.is_some()
                        && token > held.base
                        && self.now < held.hold.valid() =>
            {
                if let Some(retention) = &mut held.retention {
                    held.base = token;
                    retention.extend(held.hold.grant.token);
                }
                if let Some(sent) = ticket.log.at(lease.counter) {
                    held.hold.renewed(sent.validity(lease.hold));
                }
                ticket.log.executed(lease.counter);
                held.forced = false;
                let capacity = u64::from(held.hold.want().share.capacity);
                let free = held.is_kept().then_some(capacity);
                if free.is_some() || held.hold.is_valid() {
                    let is_done = |asked: &Pending| asked.counter <= lease.counter;
                    ticket.answer(is_done, || Ok(free), self.wakes);
                } else {
                    // The hold has already recorded the true cause of the loss.
                    self.lose(index, LossCause::NotRenewed, Duration::ZERO);
                }
            }
            Ok(_) => self.lose_unknown(index),
            Err(error) if error.kind() == StoreErrorKind::Foreign => self.lose_unknown(index),
            Err(error) => {
                // The hold stays valid until its deadline, and a reconnect touches every ticket anyway.
                ticket.again = ticket.again.min(self.now.after(self.limits.retry));
                if held.is_kept() {
                    return;
                }
                let labels = held.hold.labels();
                self.count(Metric::RenewalFailures, labels);
                let name = self.queue.name.clone();
                if let Some(others) = self.queue.core.failed_renewals.pass(self.now) {
                    self.wakes.report(move || {
                        tracing::warn!(target: HOLD, %name, %error, others, "renewal failed, trying again");
                    });
                }
            }
        }
    }

    pub(super) fn told(&mut self, message: &Message) {
        let Some(index) = message.ticket().and_then(|id| self.state.find(id)) else {
            return;
        };
        let ticket = &mut self.state.tickets[index];
        match (&mut ticket.state, message) {
            (
                TicketState::Waiting(_),
                &Message::Grant {
                    token,
                    counter,
                    hold,
                    ref signal,
                    ..
                },
            ) if (counter, token) > ticket.last_grant => {
                // A copy of an earlier message would say nothing new.
                ticket.last_grant = (counter, token);
                let granted = Granted {
                    provisional: true,
                    ..ticket.granted(
                        Lease::of(ticket.log.id, counter, hold),
                        token,
                        signal.clone(),
                    )
                };
                self.granted(index, &granted);
            }
            (TicketState::Waiting(_), Message::Ask { .. }) => self.send(index),
            (TicketState::Waiting(_), Message::Near { .. }) => {
                let soon = self.now.after(self.limits.near_touch);
                ticket.again = ticket.again.min(soon);
            }
            (TicketState::Held(_), Message::Recall { .. }) => self.recalled(index),
            // The message may be outdated. Let the answer to a renewal decide.
            (TicketState::Held(held), Message::Lost { .. }) if !held.forced => {
                held.forced = true;
                self.send(index);
            }
            _ => {}
        }
    }

    /// Ends all holds.
    pub(super) fn forgotten(&mut self) {
        for index in 0..self.state.tickets.len() {
            if self.state.tickets[index].held().is_some() {
                self.lose_unknown(index);
            }
        }
    }

    /// Submits the requests of waiting tickets in the order of their waiters.
    pub(super) fn reconnected(&mut self) {
        let mut order: Vec<_> = (0..self.state.tickets.len()).collect();
        order.sort_by_key(|&index| self.state.tickets[index].rank());
        for index in order {
            if !self.state.tickets[index].is_resting() {
                self.send(index);
            }
        }
        self.ask_queries_again();
    }
}
