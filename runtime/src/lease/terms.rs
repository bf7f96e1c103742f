//! [`Terms`]: for how long somebody wants to hold.

use std::time::Duration;

/// What the holder asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// How long it may hold at most; `None`: no limit.
    pub(crate) expire: Option<Duration>,
    /// How long the store keeps the lock at least.
    pub(crate) at_least: Duration,
}
