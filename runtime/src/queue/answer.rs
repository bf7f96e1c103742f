//! The store answers a request.

use std::sync::Arc;
use std::time::Duration;

use super::enter::Granted;
use super::local::Step;
use super::ticket::{Attempt, Held};
use super::waiter::Patience;
use crate::clock::Instant;
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::store::{Answer, Meta, Mode, Op, Reply, Ticket};

/// How soon a refused renewal or release is sent again.
const RETRY: Duration = Duration::from_millis(200);

/// An answer to an acquire or touch, reduced to what matters here.
struct Asked {
    counter: u64,
    /// The lease that was asked for.
    hold: Duration,
    result: Result<Reply, StoreError>,
}

impl super::Local {
    /// The store answered a request about this name.
    pub(crate) fn answered(self: &Arc<Self>, answer: Answer) {
        self.step(|step| step.answer(answer));
    }
}

impl Step<'_> {
    pub(super) fn answer(&mut self, answer: Answer) {
        let Answer {
            request, result, ..
        } = answer;
        match request.op {
            Op::Acquire {
                ticket,
                counter,
                hold,
                mode,
                ..
            } => {
                if matches!(&result, Err(error) if error.is_disconnected()) {
                    self.unanswered_acquire(ticket);
                }
                let asked = Asked {
                    counter,
                    hold,
                    result,
                };
                match mode {
                    Mode::Queue => self.answer_ticket(ticket, asked),
                    Mode::Try => self.answer_attempt(ticket, asked),
                }
            }
            Op::Touch {
                ticket,
                counter,
                hold,
                ..
            } => {
                self.answer_ticket(
                    ticket,
                    Asked {
                        counter,
                        hold,
                        result,
                    },
                );
            }
            Op::Release { ticket, .. } => self.answer_release(ticket, result),
            Op::Force | Op::Inspect => self.answer_query(request.id, result),
        }
    }

    /// A copy of an acquire may still reach the store after this.
    fn unanswered_acquire(&mut self, ticket: Ticket) {
        let state = &mut *self.state;
        let asks = state.ask.iter_mut().map(|ask| &mut ask.sendings);
        let attempts = state
            .attempts
            .iter_mut()
            .map(|attempt| &mut attempt.sendings);
        let held = state.held.iter_mut().map(|held| &mut held.sendings);
        for sendings in asks.chain(attempts).chain(held) {
            sendings.late |= sendings.ticket == ticket;
        }
        for leaving in &mut state.leaving {
            leaving.tomb |= leaving.ticket == ticket;
        }
    }

    fn answer_ticket(&mut self, ticket: Ticket, asked: Asked) {
        if self
            .state
            .ask
            .as_ref()
            .is_some_and(|ask| ask.sendings.ticket == ticket)
        {
            self.answer_ask(asked);
        } else if let Some(index) = self.find_held(ticket) {
            // Replies and messages overtake each other: what is older than the grant says nothing about it.
            if asked.counter > self.state.held[index].granted {
                let held = self.state.held.swap_remove(index);
                self.answer_held(held, asked);
            }
        }
        // Otherwise it was withdrawn meanwhile, and its release is on the way.
    }

    fn answer_ask(&mut self, asked: Asked) {
        let Some(mut ask) = self.state.ask.take() else {
            return;
        };
        match asked.result {
            Ok(Reply::Granted { token }) => {
                let sent = ask.sendings.at(asked.counter);
                ask.sendings.executed(asked.counter);
                let valid = sent.map_or(Instant::START, |sent| sent.validity(asked.hold));
                if self.now < valid {
                    let counter = asked.counter;
                    self.granted(
                        ask,
                        &Granted {
                            token,
                            counter,
                            valid,
                            provisional: false,
                        },
                    );
                    return;
                }
                // The answer took as long as the lease: what it says cannot be shown any more.
                ask.queued = true;
                self.touch_ask(&mut ask);
            }
            Ok(Reply::Queued { again, holder, .. }) => {
                ask.sendings.executed(asked.counter);
                ask.queued = true;
                ask.holder = holder;
                ask.again = self.now.after(again);
            }
            // The store lost the ticket, or refuses it: ask anew.
            Ok(Reply::Gone | Reply::Refused) => {
                self.forget(&ask.sendings);
                return;
            }
            Ok(Reply::Mismatch { capacity }) => {
                let error = LockError::PermitsMismatch {
                    name: self.local.name().to_string(),
                    expected: ask.capacity,
                    found: capacity,
                };
                self.forget(&ask.sendings);
                self.refuse_first(&error);
                return;
            }
            Ok(Reply::TooMany) => {
                self.forget(&ask.sendings);
                self.refuse_first(&too_many());
                return;
            }
            Ok(other) => {
                self.withdraw(&ask.sendings);
                self.fail_all(&LockError::Unavailable {
                    source: nonsense(&other),
                });
                return;
            }
            // Asked again when the connection is back; `due` knows when patience ends.
            Err(error) if error.is_disconnected() => {}
            // Its place in the queue is worth another try.
            Err(error) if ask.queued && error.kind() == StoreErrorKind::Refused => {
                ask.again = self.now.after(RETRY);
            }
            Err(error) => {
                self.withdraw(&ask.sendings);
                let error = self.lock_error(error);
                self.fail_all(&error);
                return;
            }
        }
        self.state.ask = Some(ask);
    }

    fn refuse_first(&mut self, error: &LockError) {
        if let Some(waiter) = self.state.waiters.pop_front() {
            let _ = waiter.promise.complete(Err(error.clone()), self.wakes);
        }
    }

    fn answer_held(&mut self, mut held: Held, asked: Asked) {
        let token = held.hold.grant().token / 1024;
        match asked.result {
            // Another token: the store had passed it on and granted it anew. Ours is over.
            Ok(Reply::Granted { token: same }) if same == token => {
                if let Some(sent) = held.sendings.at(asked.counter) {
                    held.hold.renewed(sent.validity(asked.hold));
                }
                held.sendings.executed(asked.counter);
                held.provisional = false;
                if held.hold.is_valid() {
                    held.refreshed(asked.counter, self);
                    self.state.held.push(held);
                } else {
                    self.lose(held);
                }
            }
            Ok(_) => self.lose(held),
            Err(error) if error.kind() == StoreErrorKind::Foreign => self.lose(held),
            Err(error) => {
                // Until its deadline the lock is ours; after a reconnect everything is touched anyway.
                let name = self.local.name().clone();
                self.wakes
                    .report(move || tracing::warn!(%name, %error, "renewal failed, trying again"));
                held.renew = held.renew.min(self.now.after(RETRY));
                self.state.held.push(held);
            }
        }
    }

    fn answer_attempt(&mut self, ticket: Ticket, asked: Asked) {
        let attempts = &self.state.attempts;
        let Some(index) = attempts
            .iter()
            .position(|try_| try_.sendings.ticket == ticket)
        else {
            return;
        };
        let mut attempt = self.state.attempts.swap_remove(index);
        let waiter = attempt.waiter.clone();
        let error = match asked.result {
            Ok(Reply::Granted { token }) => {
                let sent = attempt.sendings.at(asked.counter);
                let valid = sent.map_or(Instant::START, |sent| sent.validity(asked.hold));
                if self.now >= valid {
                    self.withdraw(&attempt.sendings);
                    return self.attempt(waiter, attempt.number);
                }
                let grant = &Granted {
                    token,
                    counter: asked.counter,
                    valid,
                    provisional: false,
                };
                let sendings = attempt.sendings;
                if let Err(unused) = self.hand(&waiter, sendings, asked.hold, grant, attempt.number)
                {
                    self.withdraw(&unused);
                }
                return;
            }
            Ok(Reply::Busy { holder }) => {
                attempt.holder = holder;
                self.forget(&attempt.sendings);
                let Some(error) = self.another_attempt(&mut attempt) else {
                    self.state.attempts.push(attempt);
                    return;
                };
                error
            }
            Ok(reply) => {
                self.forget(&attempt.sendings);
                match reply {
                    Reply::Refused | Reply::Gone => return self.attempt(waiter, attempt.number),
                    Reply::Mismatch { capacity } => LockError::PermitsMismatch {
                        name: self.local.name().to_string(),
                        expected: waiter.want.capacity,
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
            Err(error) => {
                self.withdraw(&attempt.sendings);
                self.lock_error(error)
            }
        };
        let _ = waiter.promise.complete(Err(error), self.wakes);
    }

    /// Plans the next attempt, or says why there is none.
    fn another_attempt(&mut self, attempt: &mut Attempt) -> Option<LockError> {
        let name = || self.local.name().to_string();
        let holder = attempt.holder.as_ref().and_then(Meta::read);
        let waiter = &attempt.waiter;
        match waiter.want.patience {
            Patience::Poll {
                retries, interval, ..
            } if attempt.number <= retries => {
                let next = self.now.after(interval);
                if next < waiter.deadline {
                    attempt.next = Some(next);
                    return None;
                }
                Some(LockError::Timeout {
                    name: name(),
                    waited: waiter.started.until(self.now),
                    holder,
                })
            }
            Patience::Poll { .. } => Some(LockError::TooManyAttempts {
                name: name(),
                attempts: attempt.number,
                holder,
            }),
            Patience::Queue(_) => Some(LockError::Timeout {
                name: name(),
                waited: waiter.started.until(self.now),
                holder,
            }),
        }
    }

    fn answer_release(&mut self, ticket: Ticket, result: Result<Reply, StoreError>) {
        let leaving = &mut self.state.leaving;
        let Some(index) = leaving.iter().position(|leaving| leaving.ticket == ticket) else {
            return;
        };
        let answer = match result {
            Ok(reply) => Ok(reply == Reply::Released),
            Err(error) => match error.kind() {
                StoreErrorKind::Disconnected => {
                    leaving[index].in_flight = false;
                    return;
                }
                // It can't be ours any more, and a retry would not change that.
                StoreErrorKind::Foreign => Err(self.lock_error(error)),
                StoreErrorKind::Refused | StoreErrorKind::Forbidden | StoreErrorKind::Protocol => {
                    let name = self.local.name().clone();
                    self.wakes.report(
                        move || tracing::warn!(%name, %error, "release failed, trying again"),
                    );
                    leaving[index].in_flight = false;
                    leaving[index].again = self.now.after(RETRY);
                    return;
                }
            },
        };
        let leaving = self.state.leaving.swap_remove(index);
        if let Some((_, promise)) = leaving.unlocker {
            let _ = promise.complete(answer, self.wakes);
        }
    }

    pub(super) fn lock_error(&self, error: StoreError) -> LockError {
        match error.kind() {
            StoreErrorKind::Foreign => LockError::ForeignKey {
                name: self.local.name().to_string(),
            },
            _ => LockError::Unavailable { source: error },
        }
    }
}

fn too_many() -> LockError {
    LockError::InvalidOption {
        option: "permits",
        reason: "more permits asked for than the semaphore has",
    }
}

fn nonsense(reply: &Reply) -> StoreError {
    StoreError::new(
        StoreErrorKind::Protocol,
        format!("unexpected reply {reply:?}"),
    )
}
