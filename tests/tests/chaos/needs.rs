//! What a fault needs of those whom it strikes.

use std::sync::Arc;

use auto_mutex_tests::clock::Clock;
use auto_mutex_tests::redis::Options;

/// For how long one of thirty-two stays inside at most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Stay {
    /// Nobody does, so that many rounds take little time.
    Moment,
    /// Less than a lease, for a fault that is over at once: what comes after it tells how soon a lost lock is free.
    #[default]
    Brief,
    /// More than a lease, for a fault that lasts as long: who is inside outlives his lease.
    BeyondLease,
}

impl Stay {
    pub(crate) fn millis(self) -> u64 {
        match self {
            Self::Moment => 0,
            Self::Brief => 700,
            Self::BeyondLease => 3000,
        }
    }
}

/// What a fault needs.
#[derive(Default)]
pub(crate) struct Needs {
    pub(crate) server: Options,
    /// Of the workers: see `worker::serve::configure`.
    pub(crate) options: Vec<&'static str>,
    /// A proxy before each worker.
    pub(crate) proxies: bool,
    /// For how long some stay inside.
    pub(crate) stay: Stay,
    /// What the server goes by instead of the machine's clock.
    pub(crate) clock: Option<Arc<Clock>>,
}
