//! The parts of a lease, without queues, stores or clients.

mod bound;
mod listeners;

use std::time::Duration;

pub(crate) use bound::{Bound, Bounds, Limits};
pub(crate) use listeners::{ListenerKey, Listeners};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) expire: Option<Duration>,
    /// The store keeps the lock for this time even if the holder releases it earlier.
    pub(crate) at_least: Duration,
    /// How long the client keeps the lock after the call if nobody asks for it.
    pub(crate) retain: Duration,
}
