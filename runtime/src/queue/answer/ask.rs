//! The answer about the ticket that waits.

use super::{Asked, RETRY, nonsense, too_many, too_slow};
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::queue::ask::Granted;
use crate::queue::lock_queue::Transition;
use crate::queue::ticket::Ask;
use crate::store::Reply;

/// How many grants in a row may be over when they arrive.
const STALE: u32 = 5;

impl Transition<'_> {
    pub(super) fn answer_ask(&mut self, index: usize, asked: Asked) {
        let mut ask = self.state.asks.remove(index);
        match asked.result {
            Ok(Reply::Granted { token, signal }) => {
                let valid = ask.log.validity(asked.counter, asked.hold);
                ask.log.executed(asked.counter);
                if self.now < valid {
                    let counter = asked.counter;
                    self.granted(
                        index,
                        ask,
                        &Granted {
                            token,
                            counter,
                            valid,
                            provisional: false,
                            signal,
                        },
                    );
                    return;
                }
                // The answer took as long as the lease: what it says cannot be shown any more.
                ask.queued = true;
                ask.stale += 1;
                if ask.stale >= STALE {
                    self.withdraw(&ask.log);
                    self.refuse(index, &ask, too_slow());
                    return;
                }
                self.touch_ask(&mut ask);
            }
            Ok(Reply::Queued { again, holder, .. }) => {
                ask.log.executed(asked.counter);
                ask.queued = true;
                ask.trouble = None;
                ask.holder = holder;
                ask.again = self.now.after(again);
            }
            // The store lost the ticket, or refuses it: ask anew. No store does that to a new one.
            Ok(Reply::Gone | Reply::Refused) if ask.log.count() > 1 => {
                self.forget(&ask.log);
                if ask.queued {
                    self.misplaced(index, &ask);
                }
                return;
            }
            Ok(Reply::Mismatch { capacity }) => {
                let error = LockError::PermitsMismatch {
                    name: self.local.name().to_string(),
                    expected: ask.share.capacity,
                    found: capacity,
                };
                self.forget(&ask.log);
                self.refuse(index, &ask, error);
                return;
            }
            Ok(Reply::TooMany) => {
                self.forget(&ask.log);
                self.refuse(index, &ask, too_many());
                return;
            }
            Ok(other) => {
                self.withdraw(&ask.log);
                let source = nonsense(&other);
                self.refuse(index, &ask, LockError::Unavailable { source });
                return;
            }
            // Asked again when the connection is back; `due` knows when patience ends.
            Err(error) if error.is_disconnected() => {}
            // It passes; or a place in the queue is worth another try.
            Err(error)
                if error.kind() == StoreErrorKind::Busy
                    || ask.queued && error.kind() == StoreErrorKind::Refused =>
            {
                ask.again = self.now.after(RETRY);
                ask.trouble = Some(error);
            }
            // Of the name as it is, or of the rights of this client: whatever is asked for would meet it.
            Err(error)
                if matches!(
                    error.kind(),
                    StoreErrorKind::Foreign | StoreErrorKind::Forbidden
                ) =>
            {
                self.withdraw(&ask.log);
                let error = self.lock_error(error);
                self.fail_all(&error);
                return;
            }
            // Of this ticket: others may have places, or meet a server that has memory again. The next waiter gets a ticket
            // of its own.
            Err(error) => {
                self.withdraw(&ask.log);
                let error = self.lock_error(error);
                self.refuse(index, &ask, error);
                return;
            }
        }
        self.state.asks.insert(index, ask);
    }

    /// The store has lost a place that it had given. Whoever relies on it may have missed something.
    fn misplaced(&mut self, index: usize, ask: &Ask) {
        let own = self.own_waiter(index, ask);
        if own.is_some_and(|own| self.state.waiters[own].want.relies) {
            let source = StoreError::new(
                StoreErrorKind::Refused,
                "the store has lost the place in the queue",
            );
            self.refuse(index, ask, LockError::Unavailable { source });
        }
    }

    /// Whom `ask` was for, which lay at `index`, cannot have it.
    fn refuse(&mut self, index: usize, ask: &Ask, error: LockError) {
        if let Some(waiter) = self.take_own_waiter(index, ask) {
            waiter.fail(error, self.wakes);
        }
    }
}
