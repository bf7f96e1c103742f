//! [`Budget`]: the time and the attempts that a call for several locks has left.

use std::time::Duration;

use crate::base::clock::Instant;
use crate::base::error::LockError;
use crate::queue::Patience;

pub(super) struct Budget {
    pub(super) patience: Patience,
    started: Instant,
    pub(super) attempts: u32,
    /// Those of the attempts that were made while the call waited for a lock.
    retried: u32,
}

impl Budget {
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            patience,
            started: Instant::now(),
            attempts: 0,
            retried: 0,
        }
    }

    pub(super) fn waited_for(&mut self, attempts: u32) {
        self.attempts = self.attempts.saturating_add(attempts);
        self.retried = self.retried.saturating_add(attempts);
    }

    /// The patience for the next wait for a lock; `None` if the call may not wait again.
    pub(super) fn left(&self) -> Option<Patience> {
        let left = |block: Option<Duration>| {
            let left = block.map(|block| block.saturating_sub(self.waited()));
            (left != Some(Duration::ZERO)).then_some(left)
        };
        match self.patience {
            Patience::Queue(block) => left(block).map(Patience::Queue),
            Patience::Once { .. } => None,
            Patience::Poll {
                retries,
                interval,
                block,
            } => Some(Patience::Poll {
                retries: retries.checked_sub(self.retried)?.checked_sub(1)?,
                interval,
                block: left(block)?,
            }),
        }
    }

    /// For an unresponsive store; `None`: `store_timeout`.
    pub(super) fn silence(&self) -> Option<Duration> {
        let silence = self.patience.silence();
        silence.map(|time| time.saturating_sub(self.waited()))
    }

    pub(super) fn of_call(&self, error: LockError) -> LockError {
        let used_up =
            matches!(self.patience, Patience::Poll { retries, .. } if self.retried >= retries);
        match error {
            LockError::Timeout { name, holder, .. } if used_up => LockError::TooManyAttempts {
                name,
                attempts: self.attempts,
                holder,
            },
            LockError::Timeout { name, holder, .. } => LockError::Timeout {
                name,
                waited: self.waited(),
                holder,
            },
            LockError::TooManyAttempts {
                name,
                attempts,
                holder,
            } => LockError::TooManyAttempts {
                name,
                attempts: self.attempts.saturating_add(attempts),
                holder,
            },
            error => error,
        }
    }

    pub(super) fn waited(&self) -> Duration {
        self.started.until(Instant::now())
    }
}
