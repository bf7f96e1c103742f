//! Handles the answer to a request of a waiting ticket.

use super::{Asked, RETRY, nonsense};
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::queue::lock_queue::Transition;
use crate::store::Reply;

/// A waiter fails after this many answers with a grant that had already ended when the answer arrived.
const STALE: u32 = 5;

impl Transition<'_> {
    pub(super) fn answer_waiting(&mut self, index: usize, asked: Asked) {
        let reply = match asked.result {
            Ok(reply) => reply,
            Err(error) => return self.waiting_failed(index, error),
        };
        let ticket = &mut self.state.tickets[index];
        match reply {
            Reply::Granted { token, signal } => {
                let granted = ticket.granted(asked.counter, asked.hold, token, signal);
                ticket.log.executed(asked.counter);
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
                ticket.log.executed(asked.counter);
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
                if let Some(error) = share.map(|share| self.mismatch(share, (capacity, takes))) {
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

    /// Handles a grant that cannot be proved valid, because its answer took as long as the lease.
    fn granted_too_late(&mut self, index: usize) {
        let ticket = &mut self.state.tickets[index];
        let Some(waiting) = ticket.waiting_mut() else {
            return;
        };
        waiting.queued = true;
        waiting.stale += 1;
        if waiting.stale >= STALE {
            self.refuse(index, self.too_slow());
            self.withdraw(index);
        } else {
            self.send(index);
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
                self.fail_all(&error);
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
    fn refuse(&mut self, index: usize, error: LockError) {
        if let Some(waiter) = self.take_waiter_of(index) {
            waiter.fail(error, self.wakes);
        }
    }
}
