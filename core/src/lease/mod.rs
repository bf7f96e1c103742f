//! The parts of a lease, without queues, stores or clients.

mod bound;
mod listeners;

use std::time::Duration;

pub(crate) use bound::{Bound, Bounds, Limits};
pub(crate) use listeners::{ListenerKey, Listeners};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) expire: Option<Duration>,
    /// Even if the holder releases the lock earlier.
    pub(crate) at_least: Duration,
}
