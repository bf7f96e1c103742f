//! The requirements of a fault.

use std::sync::Arc;

use auto_mutex_tests::clock::Clock;
use auto_mutex_tests::redis::Options;

use crate::server::Layout;

/// How long one turn in thirty-two keeps the lock: a random time up to this one. All other turns are short.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Stay {
    /// All turns are short, so that many rounds take little time.
    Moment,
    /// Less than a lease, for a fault that ends immediately. The recovery time shows how soon a lost lock is free.
    #[default]
    Brief,
    /// More than a lease, for a fault that lasts longer than a lease: the holder's lease ends during its turn.
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
    /// The options of a Redis.
    pub(crate) server: Options,
    /// What the workers connect to in place of a Redis.
    pub(crate) postgres: Option<Layout>,
    /// The options of the workers: see `worker::serve::configure`.
    pub(crate) options: Vec<&'static str>,
    /// Whether each worker connects through a proxy.
    pub(crate) proxies: bool,
    /// For how long some turns keep the lock.
    pub(crate) stay: Stay,
    /// The server's clock; `None` for the machine's.
    pub(crate) clock: Option<Arc<Clock>>,
}

impl Needs {
    pub(crate) fn staying(stay: Stay) -> Self {
        Self {
            stay,
            ..Self::default()
        }
    }
}
