//! Who is measured: auto-mutex in its ways of use, other libraries, and what Redis itself allows.
//!
//! A library gives locks ([`Library`]); a worker takes turns with them. The raw limit is a loop of its own, and
//! libraries of other languages are programs of their own, told the same [`Job`](crate::job::Job).

mod contender;
pub(crate) mod external;
pub(crate) mod ours;
mod ours_shared;
pub(crate) mod raw;
pub(crate) mod redlock;

use std::future::Future;
use std::time::Duration;

pub(crate) use contender::Contender;
pub(crate) use ours_shared::{OursRwLock, OursSemaphore, PERMITS, READERS};

use crate::Failure;

/// The lease of all scenarios that do not say otherwise.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// A lock library, connected.
pub(crate) trait Library: Sized + Send {
    type Lock: Lock;

    /// The lock `key` for the task `task`.
    fn lock(&self, key: &str, task: usize) -> Self::Lock;

    /// Sends what has not been sent.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A lock in the hands of one task.
pub(crate) trait Lock: Send + 'static {
    type Guard: Send;

    fn acquire(&mut self, turn: u64) -> impl Future<Output = Result<Self::Guard, Failure>> + Send;

    fn release(&mut self, guard: Self::Guard) -> impl Future<Output = Result<(), Failure>> + Send;

    /// How much of the name a turn takes.
    fn units(&self, _turn: u64) -> u64 {
        1
    }
}
