//! The answer about a ticket that waits.

use super::{Asked, RETRY, nonsense, too_many, too_slow};
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::queue::deliver::Granted;
use crate::queue::lock_queue::Transition;
use crate::store::Reply;

/// How many grants in a row may be over when they arrive.
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
                let valid = ticket.log.validity(asked.counter, asked.hold);
                ticket.log.executed(asked.counter);
                if self.now >= valid {
                    return self.granted_too_late(index);
                }
                let granted = Granted {
                    token,
                    counter: asked.counter,
                    valid,
                    provisional: false,
                    signal,
                };
                self.granted(index, &granted);
            }
            Reply::Queued { again, holder, .. } => {
                ticket.log.executed(asked.counter);
                ticket.again = self.now.after(again);
                if let Some(waiting) = ticket.waiting_mut() {
                    waiting.queued = true;
                    waiting.trouble = None;
                    waiting.holder = holder;
                }
            }
            // The store lost the ticket, or refuses it: ask anew. No store does that to a new one.
            Reply::Gone | Reply::Refused if ticket.log.count() > 1 => {
                self.misplaced(index);
                self.forget(index);
            }
            Reply::Mismatch { capacity } => {
                let expected = ticket.waiting().map_or(0, |waiting| waiting.share.capacity);
                let error = LockError::PermitsMismatch {
                    name: self.queue.name().to_string(),
                    expected,
                    found: capacity,
                };
                self.refuse(index, error);
                self.forget(index);
            }
            Reply::TooMany => {
                self.refuse(index, too_many());
                self.forget(index);
            }
            other => {
                let source = nonsense(&other);
                self.refuse(index, LockError::Unavailable { source });
                self.withdraw(index);
            }
        }
    }

    /// The answer took as long as the lease: what it says cannot be shown any more.
    fn granted_too_late(&mut self, index: usize) {
        let ticket = &mut self.state.tickets[index];
        let Some(waiting) = ticket.waiting_mut() else {
            return;
        };
        waiting.queued = true;
        waiting.stale += 1;
        if waiting.stale >= STALE {
            self.refuse(index, too_slow());
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
            // Asked again when the connection is back; `due` knows when patience ends.
            StoreErrorKind::Disconnected => {}
            // It passes.
            StoreErrorKind::Busy => {
                waiting.trouble = Some(error);
                ticket.again = self.now.after(RETRY);
            }
            // A place in the queue is worth another try.
            StoreErrorKind::Refused if waiting.queued => {
                waiting.trouble = Some(error);
                ticket.again = self.now.after(RETRY);
            }
            // Of the name as it is, or of the rights of this client: whatever is asked for would meet it.
            StoreErrorKind::Foreign | StoreErrorKind::Forbidden => {
                self.withdraw(index);
                let error = self.lock_error(error);
                self.fail_all(&error);
            }
            // Of this ticket: others may have places, or meet a server that has memory again. The next waiter gets a ticket
            // of its own.
            _ => {
                let error = self.lock_error(error);
                self.refuse(index, error);
                self.withdraw(index);
            }
        }
    }

    /// The store has lost the place that it had given to the ticket at `index`. A waiter that must stay in the queue of the
    /// store may have missed something.
    fn misplaced(&mut self, index: usize) {
        let ticket = &self.state.tickets[index];
        let queued = ticket.waiting().is_some_and(|waiting| waiting.queued);
        let own = self.waiter_of(ticket).filter(|_| queued);
        if own.is_some_and(|own| self.state.waiters[own].want.relies) {
            let source = StoreError::new(
                StoreErrorKind::Refused,
                "the store has lost the place in the queue",
            );
            self.refuse(index, LockError::Unavailable { source });
        }
    }

    /// The waiter of the ticket at `index` cannot have it.
    fn refuse(&mut self, index: usize, error: LockError) {
        if let Some(waiter) = self.take_waiter_of(index) {
            waiter.fail(error, self.wakes);
        }
    }
}
