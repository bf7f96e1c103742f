//! The locks of auto-mutex: use them through the crate [`auto-mutex`](https://docs.rs/auto-mutex), which exports them.

#[cfg(not(unix))]
compile_error!(
    "auto-mutex needs a Unix: it watches forks and exits, and a clock that goes on during suspend"
);

mod attribute;
mod caller;
mod client;
mod clock;
mod condvar;
mod config;
mod credentials;
mod deadlock;
#[cfg(any(test, feature = "test-util"))]
mod dice;
mod engine;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod guarantees;
mod handle;
mod lease;
mod member;
mod multi;
mod mutex;
mod name;
mod observe;
mod order;
mod process;
mod queue;
mod rw_lock;
mod semaphore;
mod site;
pub mod store;
mod sync;
mod task;
mod wait;

pub use client::{Client, Drained, Health, LastError, ServerHealth, Unfinished};
pub use client::{assert_lock_order, lock_order};
pub use client::{blocking_drain, drain, drain_until};
pub use client::{blocking_ping, health, is_connected, ping};
pub use client::{blocking_shutdown, client, setup, setup_async, shutdown};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use config::{Config, Deadlock, IntoDuration};
pub use credentials::{Credentials, CredentialsProvider, ServerAddress, ServerKind};
pub use error::{DeadlockHop, HoldKind, Holder, LockError, LockKind, LossCause};
pub use error::{SetupError, StoreError, TlsError};
pub use guarantees::{AfterFailover, AfterRestart, Eviction, Guarantees, Weakness};
pub use handle::{LockInfo, Waiter};
pub use multi::{MultiGuard, MultiLock};
pub use mutex::{Mutex, MutexGuard, Ticket};
#[cfg(feature = "metrics")]
pub use observe::MetricsObserver;
#[cfg(feature = "otel")]
pub use observe::OtelObserver;
pub use observe::{Metric, MetricKind, Observer};
pub use order::{OrderClass, OrderEdge};
pub use process::{release_on_termination, release_on_termination_within};
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use site::{Site, sites};

/// The functions that expansions of the attributes call. Not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}

/// What the tests of the engines need of this crate. Not for programs.
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub mod testing {
    pub use crate::clock::by_hand;
    pub use crate::dice::Dice;
    pub use crate::store::memory::state::State;

    /// A source that asks `provider` for the credentials of single servers.
    pub fn source(provider: impl crate::CredentialsProvider) -> crate::store::Source {
        let given = crate::credentials::Given::new(provider);
        crate::store::Source::new(given, crate::ServerKind::Server)
    }

    /// Calls each fuzz target with the files of its corpus.
    pub fn replay(targets: &[(&str, fn(&[u8]))]) {
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
        for (name, target) in targets {
            let mut files = 0;
            for entry in std::fs::read_dir(corpus.join(name)).unwrap() {
                let path = entry.unwrap().path();
                let bytes = std::fs::read(&path).unwrap();
                if std::panic::catch_unwind(|| target(&bytes)).is_err() {
                    panic!("{}", path.display());
                }
                files += 1;
            }
            assert!(files > 3, "{name} has a corpus of {files}");
        }
    }
}
