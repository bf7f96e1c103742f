//! The contenders: auto-mutex in its ways of use, other libraries, and plain Redis commands as the limit.
//!
//! A [`Library`] creates locks, and the tasks of a worker acquire and release them. The plain Redis commands have a
//! loop of their own. Libraries of other languages run in their own programs, which get the same
//! [`Job`](crate::job::Job).

#[cfg(feature = "peers")]
pub(crate) mod advisory;
mod contender;
#[cfg(feature = "peers")]
pub(crate) mod distkit;
pub(crate) mod external;
pub(crate) mod ours;
mod ours_shared;
pub(crate) mod raw;
#[cfg(feature = "peers")]
pub(crate) mod redlock;
#[cfg(feature = "peers")]
pub(crate) mod statements;

use std::future::Future;
use std::time::Duration;

pub(crate) use contender::Contender;
pub(crate) use ours_shared::{OursRwLock, OursSemaphore, PERMITS, READERS};

use crate::Failure;

/// The lease in all scenarios, unless a scenario sets another.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// How a process uses a library.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) contender: Contender,
    pub(crate) url: String,
    pub(crate) lease: Duration,
    /// The number of locks that will be used.
    #[cfg_attr(
        not(feature = "peers"),
        expect(dead_code, reason = "some peers need it")
    )]
    pub(crate) locks: usize,
}

/// A connected lock library.
pub(crate) trait Library: Sized + Send + 'static {
    type Lock: Lock;

    fn connect(access: &Access) -> impl Future<Output = Result<Self, Failure>> + Send;

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

/// Evaluates the expression with the type of the contender's library, other than our special ones.
macro_rules! with_library {
    ($contender:expr, |$library:ident| $then:expr) => {{
        match $contender {
            #[cfg(feature = "peers")]
            crate::peer::Contender::Rslock | crate::peer::Contender::RslockThreads => {
                type $library = crate::peer::redlock::Rslock;
                $then
            }
            #[cfg(feature = "peers")]
            crate::peer::Contender::Distkit => {
                type $library = crate::peer::distkit::Distkit;
                $then
            }
            #[cfg(feature = "peers")]
            crate::peer::Contender::PgAdvisoryLock => {
                type $library = crate::peer::advisory::Advisory;
                $then
            }
            #[cfg(feature = "peers")]
            crate::peer::Contender::SelectForUpdate | crate::peer::Contender::TwoSelects => {
                type $library = crate::peer::statements::Statements;
                $then
            }
            _ => {
                type $library = crate::peer::ours::Ours;
                $then
            }
        }
    }};
}
pub(crate) use with_library;
