//! The store answers a request: here, whose answer it is.

mod ask;
mod attempt;
mod held;
mod release;

use std::time::Duration;

use super::lock_queue::Transition;
use crate::error::{LockError, StoreError, StoreErrorKind};
use crate::store::{Answer, Mode, Op, Reply, Ticket};

/// How soon a refused renewal or release is sent again.
pub(super) const RETRY: Duration = Duration::from_millis(200);

/// An answer to an acquire or touch, reduced to what matters here.
struct Asked {
    counter: u64,
    /// The lease that was asked for.
    hold: Duration,
    result: Result<Reply, StoreError>,
}

impl Transition<'_> {
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
            Op::Adopt {
                ticket,
                counter,
                hold,
                ..
            } => {
                if matches!(&result, Err(error) if error.is_disconnected()) {
                    self.unanswered_acquire(ticket);
                }
                self.answer_attempt(
                    ticket,
                    Asked {
                        counter,
                        hold,
                        result,
                    },
                );
            }
            Op::Release { ticket, .. } => self.answer_release(ticket, result),
            Op::Force { .. }
            | Op::Refresh { .. }
            | Op::Raise { .. }
            | Op::Signal { .. }
            | Op::Delete
            | Op::Inspect => self.answer_query(request.id, result),
        }
    }

    /// A copy of an acquire may still reach the store after this.
    fn unanswered_acquire(&mut self, ticket: Ticket) {
        let state = &mut *self.state;
        let asks = state.asks.iter_mut().map(|ask| &mut ask.log);
        let attempts = state.attempts.iter_mut().map(|attempt| &mut attempt.log);
        let held = state.held.iter_mut().map(|held| &mut held.log);
        for log in asks.chain(attempts).chain(held) {
            log.late |= log.ticket == ticket;
        }
        for leaving in &mut state.leaving {
            leaving.tomb |= leaving.ticket == ticket;
        }
    }

    fn answer_ticket(&mut self, ticket: Ticket, asked: Asked) {
        if let Some(index) = self.find_ask(ticket) {
            self.answer_ask(index, asked);
        } else if let Some(index) = self.find_held(ticket) {
            // Replies and messages overtake each other: what is older than the grant says nothing about it.
            if asked.counter > self.state.held[index].granted {
                let held = self.state.held.swap_remove(index);
                self.answer_held(held, asked);
            }
        }
        // Otherwise it was withdrawn meanwhile, and its release is on the way.
    }

    pub(super) fn lock_error(&self, error: StoreError) -> LockError {
        match error.kind() {
            StoreErrorKind::Foreign => LockError::ForeignKey {
                name: self.local.name().to_string(),
            },
            StoreErrorKind::Unsupported => LockError::Unsupported {
                what: error.to_string(),
                store: self.local.member().settings().endpoint.scheme(),
            },
            StoreErrorKind::Unreplicated { wanted, reached } => LockError::NotReplicated {
                name: self.local.name().to_string(),
                wanted,
                reached,
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

fn too_slow() -> LockError {
    let message =
        "the store took longer to answer than the lock may be held: use a longer `expire`";
    LockError::Unavailable {
        source: StoreError::new(StoreErrorKind::Busy, message),
    }
}

fn nonsense(reply: &Reply) -> StoreError {
    StoreError::new(
        StoreErrorKind::Protocol,
        format!("unexpected reply {reply:?}"),
    )
}
