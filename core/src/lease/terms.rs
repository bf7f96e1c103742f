//! [`Terms`]: how long a caller wants to hold.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    /// The longest time that the holder may hold; `None`: no limit.
    pub(crate) expire: Option<Duration>,
    /// The minimum time that the store keeps the lock, even if the holder releases it earlier.
    pub(crate) at_least: Duration,
}
