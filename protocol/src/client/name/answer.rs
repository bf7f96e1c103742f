//! What the store's answers to a ticket's requests mean, and its messages.

use alloc::format;
use alloc::vec::Vec;

use super::Step;
use super::call::{AskId, Caller};
use super::hold::Ended;
use super::input::{Effect, Failure};
use super::ticket::{Granted, Pending, TicketState};
use crate::{
    Lease, LockKind, LossCause, Message, Mode, Op, Reply, Share, StoreError, StoreErrorKind,
};

impl<C: Caller> Step<'_, '_, C> {
    #[inline]
    pub(super) fn answer(&mut self, ask: AskId, op: Op, result: Result<Reply, StoreError>) {
        let (lease, acquires) = match op {
            Op::Acquire { lease, mode, .. } => (lease, Some(mode)),
            Op::Adopt { lease, .. } => (lease, Some(Mode::Try)),
            Op::Touch { lease, .. } => (lease, None),
            Op::Release { ticket, .. } => return self.answer_release(ticket, result),
            Op::Inspect { .. } if ask == AskId(0) => return self.answer_crowd(result),
            _ => return self.answer_query(ask, result),
        };
        let Some(index) = self.state.find(lease.ticket) else {
            return;
        };
        let ticket = &mut self.state.tickets[index];
        let unanswered = matches!(&result, Err(error) if error.is_disconnected());
        // A copy of an unanswered acquire may still reach the store.
        ticket.log.late |= unanswered && acquires.is_some();
        let tries = acquires == Some(Mode::Try);
        match &ticket.state {
            TicketState::Attempting(_) if tries => match result {
                Ok(reply) => self.answer_attempt(index, lease, reply),
                Err(error) => self.request_failed(index, error),
            },
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

    /// The error of a request for `share` that the store refused.
    pub(super) fn refused(share: &Share, reply: &Reply) -> Failure {
        match *reply {
            Reply::Mismatch { capacity, takes } => Failure::Mismatch {
                expected: (share.kind, share.capacity),
                found: (LockKind::of(capacity, takes), capacity),
            },
            Reply::TooMany => Failure::TooManyPermits,
            _ => Failure::Unavailable(StoreError::new(
                StoreErrorKind::Protocol,
                format!("unexpected reply {reply:?}"),
            )),
        }
    }

    #[inline]
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
                    if waiting.share.notifies() {
                        self.registered(index);
                    }
                }
                self.note_contention();
                self.limit_waiters();
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
                    self.refuse(index, Self::refused(&share, &reply));
                }
                match reply {
                    Reply::Mismatch { .. } | Reply::TooMany => self.forget(index),
                    _ => self.withdraw(index),
                }
            }
        }
    }

    /// The waiter of the ticket relies on its place, and has one now.
    fn registered(&mut self, index: usize) {
        let waiting = self.state.tickets[index].waiting();
        if let Some(own) = waiting.and_then(|it| self.state.find_waiter(it.waiter?)) {
            let waiter = self.state.waiters[own].clone();
            self.effects.push(Effect::Registered(waiter));
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
                self.fail_all(&Failure::Refused(error));
            }
            // Other tickets may have a place, or may be on a server with enough memory.
            _ => self.fail_ticket(index, Failure::Refused(error)),
        }
    }

    fn fail_all(&mut self, error: &Failure) {
        let mut calls: Vec<_> = self.state.waiters.drain(..).collect();
        calls.extend(self.withdraw_attempts(|_, _| true));
        for caller in calls {
            self.fail(caller, error.clone());
        }
    }

    pub(super) fn fail(&mut self, caller: C, error: Failure) {
        self.effects.push(Effect::Failed { caller, error });
    }

    pub(super) fn fail_ticket(&mut self, index: usize, error: Failure) {
        self.refuse(index, error);
        self.withdraw(index);
    }

    /// Fails a waiter that relies on its place, because it may have missed a signal.
    fn misplaced(&mut self, index: usize) {
        let ticket = &self.state.tickets[index];
        let own = self.state.waiter_of(ticket).filter(|_| ticket.is_queued());
        if own.is_some_and(|own| self.state.waiters[own].want().share.notifies()) {
            let message = "the store has lost the place in the queue";
            let source = StoreError::new(StoreErrorKind::Refused, message);
            self.refuse(index, Failure::Unavailable(source));
        }
    }

    pub(super) fn refuse(&mut self, index: usize, error: Failure) {
        if let Some(waiter) = self.take_waiter_of(index) {
            self.fail(waiter, error);
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
                    retention.extend(held.hold.token);
                }
                if let Some(sent) = ticket.log.at(lease.counter) {
                    held.hold.extend(sent.validity(lease.hold), self.effects);
                }
                ticket.log.executed(lease.counter);
                held.forced = false;
                let capacity = u64::from(held.hold.caller.want().share.capacity);
                let free = held.is_kept().then_some(capacity);
                if free.is_some() || held.hold.is_valid(self.now) {
                    let is_done = |asked: &Pending| asked.counter <= lease.counter;
                    ticket.confirm(is_done, || Ok(free), self.effects);
                } else {
                    // The true cause of the loss counts.
                    self.lose(index, LossCause::NotRenewed, core::time::Duration::ZERO);
                }
            }
            Ok(_) => self.lose_unknown(index),
            Err(error) if error.kind() == StoreErrorKind::Foreign => self.lose_unknown(index),
            Err(error) => {
                // The hold stays valid until its deadline, and a reconnect touches every ticket anyway.
                ticket.again = ticket.again.min(self.now.after(self.limits.retry));
                if !held.is_kept() {
                    let hold = held.hold.caller.id();
                    self.effects.push(Effect::RenewalFailed { hold, error });
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
                let lease = Lease::of(ticket.log.id, counter, hold);
                let granted = Granted {
                    provisional: true,
                    ..ticket.granted(lease, token, signal.clone())
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

    /// The guards of a hold have changed it.
    pub(super) fn seen(
        &mut self,
        hold: super::CallId,
        lost: Option<LossCause>,
        expires: crate::Instant,
        parked_until: crate::Instant,
    ) {
        let Some(index) = self.state.find_hold(hold) else {
            return;
        };
        if let TicketState::Held(held) = &mut self.state.tickets[index].state {
            held.hold.seen(expires, parked_until);
            if let Some(cause) = lost {
                let at = (self.now, self.env.client.lease);
                held.hold.end(Ended::Lost(cause), at, self.effects);
            }
        }
    }
}
