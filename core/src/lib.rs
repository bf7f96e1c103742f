//! The locks of auto-mutex: use them through the crate [`auto-mutex`](https://docs.rs/auto-mutex), which exports them.

#[cfg(not(unix))]
compile_error!(
    "auto-mutex needs a Unix: it watches forks and exits, and a clock that goes on during suspend"
);

mod attribute;
mod background;
mod base;
mod caller;
mod config;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod lease;
mod locks;
mod member;
mod observe;
mod observer;
mod queue;
mod site;
pub mod store;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub mod testing;

pub use base::duration::IntoDuration;
pub use base::error::{DeadlockHop, HoldKind, Holder, LockError, LockKind, LossCause};
pub use base::error::{SetupError, StoreError, TlsError};
#[doc(hidden)]
pub use config::Settings;
pub use config::{Config, Deadlock};
pub use locks::client::{Client, Drained, Health, LastError, Unfinished};
pub use locks::client::{assert_lock_order, lock_order};
pub use locks::client::{blocking_drain, drain, drain_until};
pub use locks::client::{blocking_ping, health, is_connected, ping};
pub use locks::client::{blocking_shutdown, client, setup, setup_async, shutdown};
pub use locks::condvar::{Condvar, WaitTimeoutResult};
pub use locks::handle::{LockInfo, Waiter};
pub use locks::multi::{MultiGuard, MultiLock};
pub use locks::mutex::{Mutex, MutexGuard, Ticket};
pub use locks::rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use locks::semaphore::{Permit, Semaphore};
pub use member::exit::{release_on_termination, release_on_termination_within};
pub use member::order::{OrderClass, OrderEdge};
#[cfg(feature = "metrics")]
pub use observer::MetricsObserver;
#[cfg(feature = "otel")]
pub use observer::OtelObserver;
pub use observer::{Metric, MetricKind, Observer};
pub use site::{Site, sites};
pub use store::ServerHealth;
pub use store::credentials::{Credentials, CredentialsProvider, ServerAddress, ServerKind};
pub use store::guarantees::{AfterFailover, AfterRestart, Eviction, Guarantees, Weakness};

/// The functions that expansions of the attributes call. Not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}
