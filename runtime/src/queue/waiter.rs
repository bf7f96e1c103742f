//! One local waiter: what it wants, and for how long.

use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

use super::hold::Hold;
use crate::clock::Instant;
use crate::error::LockError;
use crate::lease::Terms;
use crate::store::{Owner, Share, SharedStr};
use crate::wait::{DeferredWakes, Promise};

/// How long to wait for a lock, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// In the queue, at most this long; `None`: as long as it takes.
    Queue(Option<Duration>),
    /// Not at all. A store that says nothing may take so long to answer; `None`: as long as with anything else.
    Once { silence: Option<Duration> },
    /// Not at all, but try again this often after such a pause.
    Poll {
        retries: u32,
        interval: Duration,
        block: Option<Duration>,
    },
}

impl Patience {
    /// For calls that do not wait.
    pub(crate) const NONE: Self = Self::Once {
        silence: Some(Duration::ZERO),
    };

    /// As `block` says.
    pub(crate) fn block(block: Option<Duration>) -> Self {
        match block {
            Some(Duration::ZERO) => Self::NONE,
            _ => Self::Queue(block),
        }
    }
}

/// What a call has behind it that was granted a lock and lost it before it could look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    pub(crate) waited: Duration,
    pub(crate) attempts: u32,
}

/// What somebody wants of a name.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) share: Share,
    pub(crate) owner: Option<Owner>,
    pub(crate) terms: Terms,
    pub(crate) patience: Patience,
    /// Who asks, in the form of the store.
    pub(crate) meta: SharedStr,
    /// The thread of the single-threaded runtime that the caller's task lives on.
    pub(crate) home: Option<ThreadId>,
    /// The caller blocks its thread while it waits.
    pub(crate) blocking: bool,
    /// It must be in the store's queue all the time once it is registered: others are told of something only while
    /// they wait.
    pub(crate) relies: bool,
    pub(crate) past: Past,
}

/// A place in the local queue.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) want: Want,
    pub(super) started: Instant,
    /// When `block` ends.
    pub(super) deadline: Instant,
    pub(super) promise: Promise<Result<Arc<Hold>, LockError>>,
    /// The store has it in its queue, or there is nothing to wait for any more. Only who relies on it is told.
    pub(super) registered: Promise<()>,
}

impl Waiter {
    pub(super) fn new(want: Want, now: Instant) -> Arc<Self> {
        let block = match want.patience {
            Patience::Queue(block) | Patience::Poll { block, .. } => block,
            Patience::Once { .. } => Some(Duration::ZERO),
        };
        Arc::new(Self {
            deadline: block.map_or(Instant::NEVER, |block| now.after(block)),
            want,
            started: now,
            promise: Promise::new(),
            registered: Promise::new(),
        })
    }

    /// How long the call has waited.
    pub(super) fn waited(&self, now: Instant) -> Duration {
        self.want.past.waited + self.started.until(now)
    }

    /// What is wanted once more, after so many attempts, in what is left of `block`. Nothing left: what is free all the same.
    pub(super) fn again(&self, attempts: u32, now: Instant) -> Want {
        let left = now.until(self.deadline);
        let patience = match self.want.patience {
            Patience::Queue(Some(_)) => Patience::block(Some(left)),
            Patience::Poll {
                retries,
                interval,
                block,
            } => match retries.checked_sub(attempts) {
                Some(retries) if !left.is_zero() => Patience::Poll {
                    retries,
                    interval,
                    block: block.map(|_| left),
                },
                _ => Patience::NONE,
            },
            patience @ (Patience::Queue(None) | Patience::Once { .. }) => patience,
        };
        let past = Past {
            waited: self.waited(now),
            attempts: self.want.past.attempts.saturating_add(attempts),
        };
        Want {
            patience,
            past,
            ..self.want.clone()
        }
    }

    /// It has what it wants; `false` if it is gone.
    pub(super) fn obtain(&self, hold: Arc<Hold>, wakes: &mut DeferredWakes) -> bool {
        self.note_registered(wakes);
        self.promise.complete(Ok(hold), wakes).is_ok()
    }

    /// It will not get what it wants.
    pub(super) fn fail(&self, error: LockError, wakes: &mut DeferredWakes) {
        self.note_registered(wakes);
        let _ = self.promise.complete(Err(error), wakes);
    }

    pub(super) fn note_registered(&self, wakes: &mut DeferredWakes) {
        if self.want.relies {
            let _ = self.registered.complete((), wakes);
        }
    }

    /// Blocks the thread until the lock is obtained or `block` is over.
    pub(crate) fn blocking_wait(&self) -> Result<Arc<Hold>, LockError> {
        self.promise.blocking_wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_at_all_is_no_wait() {
        assert_eq!(Patience::block(Some(Duration::ZERO)), Patience::NONE);
        for time in [None, Some(Duration::from_nanos(1))] {
            assert_eq!(Patience::block(time), Patience::Queue(time));
        }
    }
}
