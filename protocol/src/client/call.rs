//! [`Call`]: a call that waits, and what it asks for.

use alloc::sync::Arc;
use core::time::Duration;

use crate::{Instant, Share, SharedStr};

/// A call for a lock. Whoever runs the state numbers them, in the order in which they come; a number is never used
/// again. A hold has the number of the call that it was granted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// A question whose answer somebody waits for: a renewal, a release, or a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// The durations of a hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tenure {
    /// How long the holder may hold; `None` without an end.
    pub expire: Option<Duration>,
    /// The store keeps the lock for this time even if the holder releases it earlier.
    pub at_least: Option<Duration>,
    /// How long the client keeps the lock after the call if nobody asks for it.
    pub retain: Option<Duration>,
}

impl Tenure {
    /// The duration of this name.
    pub fn by_name(&mut self, name: &str) -> Option<&mut Option<Duration>> {
        Some(match name {
            "expire" => &mut self.expire,
            "at_least" => &mut self.at_least,
            "retain" => &mut self.retain,
            _ => return None,
        })
    }
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
        now.after_all(block)
    }
}

/// How many grants a call may miss: they had ended before it looked.
const MISSES: u32 = 5;

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// The lock, and the units of it.
    pub share: Share,
    /// All calls of this client with the same owner share a hold.
    pub owner: Option<Arc<str>>,
    /// The durations of the hold.
    pub tenure: Tenure,
    /// How long to wait.
    pub patience: Patience,
    /// The requester: see `docs/protocol.md`.
    pub meta: SharedStr,
    /// The time waited by the requests that this one continues.
    pub waited: Duration,
    /// Their attempts.
    pub attempts: u32,
    /// How many grants it may still miss.
    pub misses: u32,
    /// With how many waiting calls it is refused; `None` without a limit.
    pub max_waiters: Option<u32>,
}

impl Want {
    /// A request that continues no other, and has no owner.
    #[inline]
    pub fn new(share: Share, tenure: Tenure, patience: Patience, meta: SharedStr) -> Self {
        Self {
            share,
            owner: None,
            tenure,
            patience,
            meta,
            waited: Duration::ZERO,
            attempts: 0,
            misses: MISSES,
            max_waiters: None,
        }
    }
}

/// A call that waits. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Its number.
    pub id: CallId,
    /// What it asks for.
    pub want: Want,
    /// When it began to wait.
    pub started: Instant,
}

impl Call {
    /// When its wait is over.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.want.patience.ends(self.started)
    }

    /// How long it has waited, with the requests that this one continues.
    pub fn waited(&self, now: Instant) -> Duration {
        self.want.waited + self.started.until(now)
    }

    /// The request that continues this one, whose grant came after so many attempts and had ended before the caller
    /// looked. With no time or retry left, it takes the lock only if it is free. `None` after too many such grants.
    pub fn again(&self, granted_after: u32, now: Instant) -> Option<Want> {
        // The grant's count includes the attempts of earlier requests.
        let attempts = granted_after.saturating_sub(self.want.attempts);
        let left = now.until(self.deadline());
        let patience = match self.want.patience {
            Patience::Queue(Some(_)) => Patience::block(Some(left)),
            Patience::Poll {
                retries,
                interval,
                block,
            } if attempts <= retries && !left.is_zero() => Patience::Poll {
                retries: retries - attempts,
                interval,
                block: block.map(|_| left),
            },
            Patience::Poll { .. } => Patience::NONE,
            patience @ (Patience::Queue(None) | Patience::Once { .. }) => patience,
        };
        Some(Want {
            patience,
            waited: self.waited(now),
            attempts: self.want.attempts.saturating_add(attempts),
            misses: self.want.misses.checked_sub(1)?,
            // It has been admitted.
            max_waiters: None,
            ..self.want.clone()
        })
    }
}

/// A call as whoever runs the state keeps it, perhaps with more than the rules read.
pub trait Caller: Clone {
    /// The call.
    fn call(&self) -> &Call;

    /// Its number.
    #[inline]
    fn id(&self) -> CallId {
        self.call().id
    }

    /// What it asks for.
    #[inline]
    fn want(&self) -> &Want {
        &self.call().want
    }
}

impl Caller for Call {
    fn call(&self) -> &Call {
        self
    }
}

impl<T: AsRef<Call>> Caller for Arc<T> {
    #[inline]
    fn call(&self) -> &Call {
        (**self).as_ref()
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

    const SECOND: Duration = Duration::from_secs(1);

    fn call(patience: Patience) -> Call {
        Call {
            id: CallId(1),
            want: Want::new(Share::MUTEX, Tenure::default(), patience, SharedStr::EMPTY),
            started: Instant::START.after(SECOND),
        }
    }

    #[test]
    fn what_continues_a_call_has_the_rest_of_its_time_and_of_its_retries() {
        let poll = |retries, block| Patience::Poll {
            retries,
            interval: SECOND,
            block,
        };
        let (three, once) = (Some(3 * SECOND), Patience::Once { silence: None });
        let late = Instant::START.after(3 * SECOND);
        for (patience, attempts, left) in [
            (Patience::Queue(None), 1, Patience::Queue(None)),
            (Patience::Queue(three), 1, Patience::Queue(Some(SECOND))),
            (Patience::Queue(Some(SECOND)), 1, Patience::NONE),
            (once, 1, once),
            (poll(3, three), 2, poll(1, Some(SECOND))),
            (poll(3, None), 3, poll(0, None)),
            (poll(3, None), 4, Patience::NONE),
            (poll(3, Some(2 * SECOND)), 1, Patience::NONE),
        ] {
            let again = call(patience).again(attempts, late).unwrap();
            assert_eq!((again.patience, again.attempts), (left, attempts));
            assert_eq!(again.waited, 2 * SECOND);
        }
    }

    #[test]
    fn a_call_misses_no_more_than_some_grants() {
        let mut call = call(Patience::Queue(None));
        for missed in 1..=MISSES {
            call.want = call.again(missed, call.started).unwrap();
            assert_eq!(call.want.attempts, missed);
        }
        assert_eq!(call.again(MISSES + 1, call.started), None);
    }
}
