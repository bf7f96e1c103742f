//! The requirements of a fault.

use std::sync::Arc;

use auto_mutex_tests::clock::Clock;
use auto_mutex_tests::redis::Options;

/// The longest time for which one turn in thirty-two keeps the lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Stay {
    /// All turns are short, so that many rounds take little time.
    Moment,
    /// Less than a lease, for a fault that is over at once. The time after the fault shows how soon a lost lock is free.
    #[default]
    Brief,
    /// More than a lease, for a fault that lasts as long: a turn lasts longer than the holder's lease.
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

/// The requirements of a fault.
#[derive(Default)]
pub(crate) struct Needs {
    pub(crate) server: Options,
    /// The options of the workers: see `worker::serve::configure`.
    pub(crate) options: Vec<&'static str>,
    /// Whether each worker connects through a proxy.
    pub(crate) proxies: bool,
    /// The longest time for which some turns keep the lock.
    pub(crate) stay: Stay,
    /// The server's clock, if the machine's clock will not do.
    pub(crate) clock: Option<Arc<Clock>>,
}
