//! [`Budget`]: the time and the attempts that a call has, for all names together.

use std::time::Duration;

use crate::clock::Instant;
use crate::error::LockError;
use crate::queue::Patience;

/// What a call may spend, and has spent.
pub(super) struct Budget {
    patience: Patience,
    started: Instant,
    attempts: u32,
    /// Attempts at names that were waited for, by retrying where that was asked for.
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

    /// How often the store was asked.
    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// What was missing was tried, if anything was.
    pub(super) fn tried(&mut self, any: bool) {
        self.attempts = self.attempts.saturating_add(any.into());
    }

    /// A name was waited for, with so many attempts.
    pub(super) fn waited_for(&mut self, attempts: u32) {
        self.attempts = self.attempts.saturating_add(attempts);
        self.retried = self.retried.saturating_add(attempts);
    }

    /// How the next name may be waited for; `None`: not at all.
    pub(super) fn left(&self) -> Option<Patience> {
        let left = |block: Option<Duration>| match block {
            Some(block) => {
                let left = block.saturating_sub(self.waited());
                (!left.is_zero()).then_some(Some(left))
            }
            None => Some(None),
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

    /// How long a store that says nothing may take to answer.
    pub(super) fn silence(&self) -> Option<Duration> {
        let (Patience::Queue(time)
        | Patience::Once { silence: time }
        | Patience::Poll { block: time, .. }) = self.patience;
        time.map(|time| time.saturating_sub(self.waited()))
    }

    /// Why it ends where a name is busy.
    pub(super) fn give_up(&self, busy: LockError) -> LockError {
        match (self.patience, busy) {
            (Patience::Poll { retries, .. }, LockError::Timeout { name, holder, .. })
                if self.retried >= retries =>
            {
                LockError::TooManyAttempts {
                    name,
                    attempts: self.attempts,
                    holder,
                }
            }
            (_, busy) => self.tell(busy),
        }
    }

    /// An error of one name, as that of the whole call.
    pub(super) fn tell(&self, error: LockError) -> LockError {
        match error {
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
