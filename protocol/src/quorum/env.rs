//! [`Env`]: what a step depends on, beside the state and the input. [`Name`]: what the rounds must know of a name.

use core::fmt::Debug;
use core::hash::Hash;
use core::time::Duration;

use crate::{Instant, Limits, Ticket, between};

/// What one step reads. Whoever runs the state makes it for each input.
pub struct Env<'a> {
    /// The member's time.
    pub now: Instant,
    /// The durations of the protocol.
    pub limits: &'a Limits,
    /// Draws random bytes, for a ticket or a number.
    pub random: &'a mut dyn FnMut() -> [u8; 16],
}

impl Env<'_> {
    pub(super) fn ticket(&mut self) -> Ticket {
        Ticket::from_random((self.random)())
    }

    pub(super) fn number(&mut self) -> u32 {
        u128::from_be_bytes((self.random)()) as u32
    }

    pub(super) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        between(from, to, self.number())
    }
}

/// A name of a lock.
pub trait Name: Clone + Ord + Hash + Debug {
    /// The name whose signals the waiters of this one wait for. No user can choose it.
    fn wake_queue(&self) -> Self;

    /// Whether it is the [`wake_queue`](Self::wake_queue) of a name.
    fn is_wake_queue(&self) -> bool;
}

/// A small number, with a bit for its wake queue.
#[cfg(any(test, feature = "test-util"))]
impl Name for u8 {
    fn wake_queue(&self) -> Self {
        self | 0x80
    }

    fn is_wake_queue(&self) -> bool {
        self & 0x80 != 0
    }
}
