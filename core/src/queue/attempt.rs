//! An attempt takes the lock only if it is free, or takes over a hold; it never waits in the store. Its answer decides
//! whether another attempt follows.

use std::sync::Arc;
use std::time::Duration;

use super::answer::{Asked, RETRY, nonsense};
use super::due::BRIEF;
use super::lock_queue::Transition;
use super::ticket::{Attempting, Granted, Ticket, TicketState};
use super::waiter::{Patience, Waiter};
use crate::clock::Instant;
use crate::error::{LockError, LossCause, StoreError, StoreErrorKind};
use crate::store::{HolderRecord, Meta, Reply, Ticket as TicketId};

impl Transition<'_> {
    pub(super) fn answer_attempt(&mut self, index: usize, asked: Asked) {
        let ticket = &self.state.tickets[index];
        let Some(attempt) = ticket.attempting() else {
            return;
        };
        let waiter = attempt.waiter.clone();
        match asked.result {
            Ok(Reply::Granted { token, signal }) => {
                let granted = ticket.granted(asked.lease, token, signal);
                self.attempt_granted(index, &granted);
            }
            // The store answers an adoption with `Busy` only while it grants nothing. When it grants again, the old
            // lease will have ended, so the next attempt adopts nothing.
            Ok(Reply::Busy { holder }) => self.attempt_failed(index, holder),
            // A store refuses a valid attempt only if its request was sent more than once. The attempt is repeated with
            // a new ticket.
            Ok(Reply::Refused | Reply::Gone)
                if attempt.adopts.is_none() && ticket.log.count() > 1 =>
            {
                let number = attempt.number;
                self.forget(index);
                self.attempt(waiter, None, number);
            }
            Ok(reply) => {
                let error = self.attempt_error(attempt, &reply);
                self.forget(index);
                waiter.fail(error, self.wakes);
            }
            Err(error) => self.attempt_unanswered(index, error),
        }
    }

    fn attempt_granted(&mut self, index: usize, granted: &Granted) {
        let ticket = &self.state.tickets[index];
        let Some(attempt) = ticket.attempting() else {
            return;
        };
        let (waiter, id) = (attempt.waiter.clone(), ticket.id());
        let (number, adopted) = (attempt.number, attempt.adopts.is_some());
        if self.now >= granted.valid {
            self.withdraw(index);
            let error = self.too_slow();
            waiter.fail(error, self.wakes);
        } else if !self.deliver(id, &waiter, granted, number) {
            self.withdraw_by_id(id);
        } else if adopted && let Some(index) = self.state.find(id) {
            // An adopted hold may have an owner in the store.
            if let Some(held) = self.state.tickets[index].held_mut() {
                held.owned = true;
            }
        }
    }

    /// Handles an error: the store did not serve the attempt, or did not answer it.
    fn attempt_unanswered(&mut self, index: usize, error: StoreError) {
        let again = self.now.after(RETRY);
        let ticket = &mut self.state.tickets[index];
        let TicketState::Attempting(attempt) = &mut ticket.state else {
            return;
        };
        match error.kind() {
            StoreErrorKind::Disconnected => {}
            StoreErrorKind::Busy => {
                attempt.trouble = Some(error);
                ticket.again = again;
            }
            _ => {
                let waiter = attempt.waiter.clone();
                let error = self.lock_error(error);
                self.withdraw(index);
                waiter.fail(error, self.wakes);
            }
        }
    }

    /// Called if another ticket holds the name, or if the store grants nothing: plans the next attempt, or fails the
    /// waiter.
    fn attempt_failed(&mut self, index: usize, holder: Option<HolderRecord>) {
        let ticket = &self.state.tickets[index];
        let Some(attempt) = ticket.attempting() else {
            return;
        };
        let (waiter, number) = (attempt.waiter.clone(), attempt.number);
        if let Patience::Poll {
            retries, interval, ..
        } = waiter.want.patience
            && number <= retries
        {
            let next = self.now.after(interval);
            if next < waiter.deadline {
                // The next attempt rests until `next`.
                let resting = TicketState::Attempting(Attempting {
                    waiter,
                    adopts: None,
                    number: number + 1,
                    trouble: None,
                });
                let mut resting = Ticket::new(self.now, ticket.lease, resting);
                resting.again = next;
                self.forget(index);
                self.state.tickets.push(resting);
                return;
            }
        }
        let holder = holder.as_ref();
        let is_over =
            matches!(waiter.want.patience, Patience::Poll { retries, .. } if number > retries);
        let error = if is_over && (holder.is_some() || self.closing().is_none()) {
            LockError::TooManyAttempts {
                name: self.queue.name().to_string(),
                attempts: waiter.want.past.attempts.saturating_add(number),
                holder: holder.and_then(Meta::read).map(Box::new),
            }
        } else {
            self.gave_up(&waiter, holder)
        };
        self.forget(index);
        waiter.fail(error, self.wakes);
    }

    /// The error of an attempt that the store did not grant.
    fn attempt_error(&self, attempt: &Attempting, reply: &Reply) -> LockError {
        match reply {
            _ if attempt.adopts.is_some() => LockError::Lost {
                name: self.queue.name().to_string(),
                held: Duration::ZERO,
                cause: LossCause::Forgotten,
            },
            Reply::Mismatch { capacity, takes } => {
                self.mismatch(&attempt.waiter.want.share, *capacity, *takes)
            }
            Reply::TooMany => LockError::too_many_permits(),
            other => self.unavailable(nonsense(other)),
        }
    }

    /// Tries to take the lock if it is free, or to take over the hold `adopts`.
    pub(super) fn attempt(&mut self, waiter: Arc<Waiter>, adopts: Option<TicketId>, number: u32) {
        let lease = self.queue.lease_of(waiter.want.terms);
        let attempt = Attempting {
            waiter,
            adopts,
            number,
            trouble: None,
        };
        self.begin(lease, TicketState::Attempting(attempt));
    }

    /// When the queue stops waiting for the answer to an attempt that was made at `since`.
    pub(super) fn attempt_ends(&self, since: Instant, attempt: &Attempting) -> Instant {
        let store_timeout = self.queue.member().settings().store_timeout();
        let silence = attempt.waiter.want.patience.silence();
        let silence = store_timeout.min(silence.unwrap_or(store_timeout).max(BRIEF));
        since.after(silence).max(self.spared())
    }

    pub(super) fn due_attempts(&mut self) {
        for index in 0..self.state.tickets.len() {
            let ticket = &self.state.tickets[index];
            let Some(attempt) = ticket.attempting() else {
                continue;
            };
            let rests = ticket.is_resting();
            if !rests && self.attempt_ends(ticket.log.since, attempt) <= self.now {
                let source = self.silence(attempt.trouble.as_ref());
                let waiter = attempt.waiter.clone();
                self.withdraw(index);
                let error = self.unavailable(source);
                waiter.fail(error, self.wakes);
            } else if ticket.again <= self.now {
                if rests {
                    self.state.tickets[index].log.since = self.now;
                }
                self.send(index);
            }
        }
    }
}
