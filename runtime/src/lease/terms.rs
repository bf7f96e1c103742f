//! [`Terms`]: how long a caller wants to hold.

use std::time::Duration;

/// The holder's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// How long it may hold at most; `None`: no limit.
    pub(crate) expire: Option<Duration>,
    /// The minimum time that the store keeps the lock, even if it is released earlier.
    pub(crate) at_least: Duration,
}
