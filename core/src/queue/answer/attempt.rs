//! Handles the answer to an attempt that does not wait, and decides whether another attempt follows.

use std::time::Duration;

use super::{Asked, RETRY, nonsense};
use crate::error::{LockError, LossCause, StoreError, StoreErrorKind};
use crate::queue::lock_queue::Transition;
use crate::queue::ticket::{Attempting, Granted, Ticket, TicketState};
use crate::queue::waiter::Patience;
use crate::store::{HolderRecord, Meta, Reply};

impl Transition<'_> {
    pub(super) fn answer_attempt(&mut self, index: usize, asked: Asked) {
        let ticket = &self.state.tickets[index];
        let Some(attempt) = ticket.attempting() else {
            return;
        };
        let waiter = attempt.waiter.clone();
        match asked.result {
            Ok(Reply::Granted { token, signal }) => {
                let granted = ticket.granted(asked.counter, asked.hold, token, signal);
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
        let attempts_are_over = match waiter.want.patience {
            Patience::Poll { retries, .. } => number > retries,
            Patience::Queue(_) | Patience::Once { .. } => false,
        };
        let error = match holder {
            _ if !attempts_are_over => self.gave_up(&waiter, holder),
            None if self.closing().is_some() => self.gave_up(&waiter, holder),
            _ => LockError::TooManyAttempts {
                name: self.queue.name().to_string(),
                attempts: waiter.want.past.attempts.saturating_add(number),
                holder: holder.and_then(Meta::read).map(Box::new),
            },
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
                self.mismatch(&attempt.waiter.want.share, (*capacity, *takes))
            }
            Reply::TooMany => LockError::too_many_permits(),
            other => self.unavailable(nonsense(other)),
        }
    }
}
