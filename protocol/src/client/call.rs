//! [`Caller`]: a call that waits, and what it asks for.

use alloc::sync::Arc;
use core::time::Duration;

use crate::{Instant, Share, SharedStr};

/// A call for a lock. Whoever runs the state numbers them, in the order in which they come; a number is never used again.
/// A hold has the number of the call that it was granted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// A question whose answer somebody waits for: a renewal, a release, or a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// The durations of a hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How long the holder may hold; `None` without an end.
    pub expire: Option<Duration>,
    /// The store keeps the lock for this time even if the holder releases it earlier.
    pub at_least: Duration,
    /// How long the client keeps the lock after the call if nobody asks for it.
    pub retain: Duration,
}

/// How long a call waits, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Patience {
    /// In the queue, for this time; `None` without an end.
    Queue(Option<Duration>),
    /// Do not wait.
    Once {
        /// How long to tolerate an unresponsive store; `None` for the usual time.
        silence: Option<Duration>,
    },
    /// Retry, without a place in the queue.
    Poll {
        /// How often at most.
        retries: u32,
        /// The pause between two attempts.
        interval: Duration,
        /// For how long at most.
        block: Option<Duration>,
    },
}

impl Patience {
    /// Without any time.
    pub const NONE: Self = Self::Once {
        silence: Some(Duration::ZERO),
    };

    /// Whether the call may wait for other holders.
    pub fn waits(self) -> bool {
        !matches!(self, Self::Once { .. })
    }

    /// `false` for a call that polls: it requests nothing between two attempts.
    pub fn queues(self) -> bool {
        matches!(self, Self::Queue(_))
    }

    /// How long to tolerate an unresponsive store; `None` for the usual time.
    pub fn silence(self) -> Option<Duration> {
        match self {
            Self::Queue(block) | Self::Poll { block, .. } => block,
            Self::Once { silence } => silence,
        }
    }

    /// Waits in the queue for `block`.
    pub fn block(block: Option<Duration>) -> Self {
        match block {
            Some(Duration::ZERO) => Self::NONE,
            _ => Self::Queue(block),
        }
    }

    /// When the wait of a call that begins now is over.
    pub fn ends(self, now: Instant) -> Instant {
        let block = match self {
            Self::Queue(block) | Self::Poll { block, .. } => block,
            Self::Once { .. } => Some(Duration::ZERO),
        };
        block.map_or(Instant::NEVER, |block| now.after(block))
    }
}

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// The lock, and the units of it.
    pub share: Share,
    /// All calls of this client with the same owner share a hold.
    pub owner: Option<Arc<str>>,
    /// The durations of the hold.
    pub terms: Terms,
    /// How long to wait.
    pub patience: Patience,
    /// The requester: see `docs/protocol.md`.
    pub meta: SharedStr,
    /// See [`Caller::relies`].
    pub relies: bool,
    /// The time waited by the requests that this one continues.
    pub waited: Duration,
    /// See [`Caller::attempts`].
    pub attempts: u32,
}

/// A call that waits, as whoever runs the state keeps it: what it asks for never changes.
pub trait Caller: Clone {
    /// Its number.
    fn id(&self) -> CallId;
    /// The lock, and the units of it.
    fn share(&self) -> &Share;
    /// All calls of this client with the same owner share a hold.
    fn owner(&self) -> Option<&Arc<str>>;
    /// The durations of the hold.
    fn terms(&self) -> Terms;
    /// How long to wait.
    fn patience(&self) -> Patience;
    /// The requester: see `docs/protocol.md`.
    fn meta(&self) -> &SharedStr;
    /// Once registered, the waiter must never leave the store's queue, because a notification reaches only waiters that
    /// are queued when it is sent.
    fn relies(&self) -> bool;
    /// The attempts of the requests that this one continues.
    fn attempts(&self) -> u32;
    /// When it began to wait.
    fn started(&self) -> Instant;
    /// When its wait is over.
    fn deadline(&self) -> Instant;
    /// How long it has waited, with the requests that this one continues.
    fn waited(&self, now: Instant) -> Duration;
}

/// A call as a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Its number.
    pub id: CallId,
    /// What it asks for.
    pub want: Want,
    /// When it began to wait.
    pub started: Instant,
}

impl Caller for Call {
    fn id(&self) -> CallId {
        self.id
    }

    fn share(&self) -> &Share {
        &self.want.share
    }

    fn owner(&self) -> Option<&Arc<str>> {
        self.want.owner.as_ref()
    }

    fn terms(&self) -> Terms {
        self.want.terms
    }

    fn patience(&self) -> Patience {
        self.want.patience
    }

    fn meta(&self) -> &SharedStr {
        &self.want.meta
    }

    fn relies(&self) -> bool {
        self.want.relies
    }

    fn attempts(&self) -> u32 {
        self.want.attempts
    }

    fn started(&self) -> Instant {
        self.started
    }

    fn deadline(&self) -> Instant {
        self.want.patience.ends(self.started)
    }

    fn waited(&self, now: Instant) -> Duration {
        self.want.waited + self.started.until(now)
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
