//! The contenders: auto-mutex in its ways of use, other libraries, and plain Redis commands as the limit.
//!
//! A [`Library`] creates locks, and the tasks of a worker acquire and release them. The plain Redis commands have a loop
//! of their own. Libraries of other languages run in their own programs, which get the same [`Job`](crate::job::Job).

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

/// The lease in all scenarios, unless a scenario sets another.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// A connected lock library.
pub(crate) trait Library: Sized + Send {
    type Lock: Lock;

    /// Returns the lock `key` for the task `task`.
    fn lock(&self, key: &str, task: usize) -> Self::Lock;

    /// Waits until all pending requests are sent.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A lock that one task uses.
pub(crate) trait Lock: Send + 'static {
    type Guard: Send;

    fn acquire(&mut self, turn: u64) -> impl Future<Output = Result<Self::Guard, Failure>> + Send;

    fn release(&mut self, guard: Self::Guard) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Returns the units of the name that a turn takes.
    fn units(&self, _turn: u64) -> u64 {
        1
    }
}
