//! One local waiter: its request, and how long it waits.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::hold::Hold;
use super::warnings::Warned;
use crate::clock::Instant;
use crate::deadlock::Registered;
use crate::error::LockError;
use crate::lease::Terms;
use crate::store::{Owner, Share, SharedStr};
use crate::task::{Home, TaskId};
use crate::wait::{DeferredWakes, Promise};

/// How long to wait for a lock, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Wait in the queue, at most this long; `None`: without a limit.
    Queue(Option<Duration>),
    /// Do not wait. `silence` is how long the call tolerates an unresponsive store; `None`: as long as any other call.
    Once { silence: Option<Duration> },
    /// Do not wait, but retry up to `retries` times, with a pause of `interval` between two attempts, until `block`
    /// ends.
    Poll {
        retries: u32,
        interval: Duration,
        block: Option<Duration>,
    },
}

impl Patience {
    /// The patience of calls that do not wait.
    pub(crate) const NONE: Self = Self::Once {
        silence: Some(Duration::ZERO),
    };

    /// Whether a call may wait.
    pub(crate) fn waits(self) -> bool {
        !matches!(self, Self::Once { .. })
    }

    /// Whether a call may wait in the queue. A call that polls does not: between two attempts it asks for nothing.
    pub(crate) fn queues(self) -> bool {
        matches!(self, Self::Queue(_))
    }

    /// How long a call tolerates an unresponsive store; `None`: for the whole `store_timeout`.
    pub(crate) fn silence(self) -> Option<Duration> {
        match self {
            Self::Queue(time) | Self::Once { silence: time } | Self::Poll { block: time, .. } => {
                time
            }
        }
    }

    /// How a call with the option `block` waits.
    pub(crate) fn block(block: Option<Duration>) -> Self {
        match block {
            Some(Duration::ZERO) => Self::NONE,
            _ => Self::Queue(block),
        }
    }
}

/// The history of a call that missed a grant and waits again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    pub(crate) waited: Duration,
    pub(crate) attempts: u32,
}

/// A caller's request for a name.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) share: Share,
    pub(crate) owner: Option<Owner>,
    pub(crate) terms: Terms,
    pub(crate) patience: Patience,
    /// The requester, encoded for the store.
    pub(crate) meta: SharedStr,
    /// The site label of the metrics.
    pub(crate) label: &'static str,
    /// After its registration the waiter must never leave the store's queue, because a notification reaches only the
    /// waiters that are queued when it is sent.
    pub(crate) relies: bool,
    pub(crate) past: Past,
    pub(crate) by: Requester,
}

/// Who makes a request, as far as a queue must know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requester {
    /// The caller blocks its thread while it waits.
    pub(crate) blocking: bool,
    /// What the caller needs in order to run on.
    pub(crate) home: Option<Home>,
    /// The multi-threaded runtime with a worker that the call blocks. Only noted by a call that enters a queue.
    pub(crate) blocks: Option<tokio::runtime::Id>,
    /// The caller's task or thread, if it can be known. Only noted by a request that enters a queue, like the fields below.
    pub(crate) task: Option<TaskId>,
    /// The caller holds another lock of the client. Such a call may continue while the client drains.
    pub(crate) inside: bool,
    /// The locks that the caller holds, if any.
    pub(crate) holds: Option<Arc<Vec<Arc<Hold>>>>,
}

impl Requester {
    /// Whether the call belongs to a running body. `has_taken` returns whether a task holds a lock that it took by hand.
    pub(crate) fn is_nested(&self, has_taken: impl FnOnce(TaskId) -> bool) -> bool {
        self.inside || self.task.is_some_and(has_taken)
    }
}

/// A waiter in the local queue.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) want: Want,
    pub(super) started: Instant,
    /// When `block` ends.
    pub(super) deadline: Instant,
    pub(super) promise: Promise<Result<Arc<Hold>, LockError>>,
    /// Resolved when the store has queued the waiter, or when the waiter no longer needs a place. Only resolved for a
    /// waiter that relies on its place.
    pub(super) registered: Promise<()>,
    /// The warnings about the wait.
    pub(super) warned: Warned,
    /// Makes the wait known to searches for deadlocks. Only set if the task of the call holds locks.
    pub(super) nested: OnceLock<Registered>,
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
            warned: Warned::default(),
            nested: OnceLock::new(),
        })
    }

    /// How long the call has waited.
    pub(super) fn waited(&self, now: Instant) -> Duration {
        self.want.past.waited + self.started.until(now)
    }

    /// Returns the request with which the caller continues after `attempts` attempts, for the rest of `block`. If no time
    /// or no retry is left, that request takes the lock only if it is free.
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

    /// Delivers `hold` to the waiter; `false` if the waiter has left.
    pub(super) fn obtain(&self, hold: Arc<Hold>, wakes: &mut DeferredWakes) -> bool {
        self.note_registered(wakes);
        self.promise.complete(Ok(hold), wakes).is_ok()
    }

    /// Ends the wait with `error`.
    pub(super) fn fail(&self, error: LockError, wakes: &mut DeferredWakes) {
        self.note_registered(wakes);
        let _ = self.promise.complete(Err(error), wakes);
    }

    pub(super) fn note_registered(&self, wakes: &mut DeferredWakes) {
        if self.want.relies {
            let _ = self.registered.complete((), wakes);
        }
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
