//! The answer to an attempt that does not wait, and whether there is another.

use std::time::Duration;

use super::{Asked, RETRY, nonsense, too_many, too_slow};
use crate::error::{LockError, StoreErrorKind};
use crate::queue::ask::Granted;
use crate::queue::lock_queue::Transition;
use crate::queue::ticket::Attempt;
use crate::queue::waiter::Patience;
use crate::store::{Meta, Reply, Ticket};

impl Transition<'_> {
    pub(super) fn answer_attempt(&mut self, ticket: Ticket, asked: Asked) {
        let attempts = &self.state.attempts;
        let Some(index) = attempts.iter().position(|try_| try_.log.ticket == ticket) else {
            return;
        };
        let mut attempt = self.state.attempts.swap_remove(index);
        let waiter = attempt.waiter.clone();
        let error = match asked.result {
            Ok(Reply::Granted { token, signal }) => {
                let valid = attempt.log.validity(asked.counter, asked.hold);
                if self.now >= valid {
                    self.withdraw(&attempt.log);
                    waiter.fail(too_slow(), self.wakes);
                    return;
                }
                let grant = &Granted {
                    token,
                    counter: asked.counter,
                    valid,
                    provisional: false,
                    signal,
                };
                let log = attempt.log;
                match self.hand(&waiter, log, asked.hold, grant, attempt.number) {
                    Ok(()) => self.note_adoption(attempt.adopts.is_some()),
                    Err(unused) => self.withdraw(&unused),
                }
                return;
            }
            // (An adoption is answered so only while nothing is granted; by the opening the old lease has ended.)
            Ok(Reply::Busy { holder }) => {
                attempt.holder = holder;
                self.forget(&attempt.log);
                let Some(error) = self.another_attempt(&mut attempt) else {
                    self.state.attempts.push(attempt);
                    return;
                };
                error
            }
            Ok(reply) => {
                self.forget(&attempt.log);
                match reply {
                    _ if attempt.adopts.is_some() => LockError::Lost {
                        name: self.local.name().to_string(),
                        held: Duration::ZERO,
                    },
                    // No store refuses a ticket that was sent only once.
                    Reply::Refused | Reply::Gone if attempt.log.count() > 1 => {
                        return self.attempt(waiter, None, attempt.number);
                    }
                    Reply::Mismatch { capacity } => LockError::PermitsMismatch {
                        name: self.local.name().to_string(),
                        expected: waiter.want.share.capacity,
                        found: capacity,
                    },
                    Reply::TooMany => too_many(),
                    other => LockError::Unavailable {
                        source: nonsense(&other),
                    },
                }
            }
            Err(error) if error.is_disconnected() => {
                self.state.attempts.push(attempt);
                return;
            }
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                attempt.again = self.now.after(RETRY);
                attempt.trouble = Some(error);
                self.state.attempts.push(attempt);
                return;
            }
            Err(error) => {
                self.withdraw(&attempt.log);
                self.lock_error(error)
            }
        };
        waiter.fail(error, self.wakes);
    }

    /// What was just handed out may have an owner in the store, if it is `adopted`.
    fn note_adoption(&mut self, adopted: bool) {
        if let Some(held) = self.state.held.last_mut() {
            held.owned |= adopted;
        }
    }

    /// Plans the next attempt, or says why there is none.
    fn another_attempt(&mut self, attempt: &mut Attempt) -> Option<LockError> {
        let waiter = &attempt.waiter;
        let holder = attempt.holder.as_ref();
        match waiter.want.patience {
            Patience::Poll {
                retries, interval, ..
            } if attempt.number <= retries => {
                let next = self.now.after(interval);
                if next < waiter.deadline {
                    attempt.next = Some(next);
                    return None;
                }
                Some(self.gave_up(waiter, holder))
            }
            Patience::Poll { .. } if holder.is_none() && self.closing().is_some() => {
                Some(self.gave_up(waiter, holder))
            }
            Patience::Poll { .. } => Some(LockError::TooManyAttempts {
                name: self.local.name().to_string(),
                attempts: waiter.want.past.attempts.saturating_add(attempt.number),
                holder: holder.and_then(Meta::read),
            }),
            Patience::Queue(_) | Patience::Once { .. } => Some(self.gave_up(waiter, holder)),
        }
    }
}
