//! The locks of auto-mutex: use them through the crate [`auto-mutex`](https://docs.rs/auto-mutex), which exports them.

#[cfg(not(unix))]
compile_error!(
    "auto-mutex needs a Unix: it watches forks and exits, and a clock that goes on during suspend"
);

mod address;
mod attribute;
mod caller;
mod client;
mod clock;
mod condvar;
mod config;
mod credentials;
mod deadlock;
mod duration;
mod engine;
mod error;
mod exit;
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
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub mod testing;
mod wait;

pub use client::{Client, Drained, Health, LastError, ServerHealth, Unfinished};
pub use client::{assert_lock_order, lock_order};
pub use client::{blocking_drain, drain, drain_until};
pub use client::{blocking_ping, health, is_connected, ping};
pub use client::{blocking_shutdown, client, setup, setup_async, shutdown};
pub use condvar::{Condvar, WaitTimeoutResult};
#[doc(hidden)]
pub use config::Settings;
pub use config::{Config, Deadlock};
pub use credentials::{Credentials, CredentialsProvider, ServerAddress, ServerKind};
pub use duration::IntoDuration;
pub use error::{DeadlockHop, HoldKind, Holder, LockError, LockKind, LossCause};
pub use error::{SetupError, StoreError, TlsError};
pub use exit::{release_on_termination, release_on_termination_within};
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
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use site::{Site, sites};

/// The functions that expansions of the attributes call. Not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}
