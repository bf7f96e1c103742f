//! The public API, which the crate `auto-mutex` re-exports.

pub use crate::assert_held;
pub use crate::background::exit::{release_on_termination, release_on_termination_within};
pub use crate::base::duration::IntoDuration;
pub use crate::base::error::{DeadlockHop, HoldKind, Holder, LockError, LockKind, LossCause};
pub use crate::base::error::{SetupError, StoreError, TlsError};
pub use crate::caller::{Current, current};
pub use crate::config::{Config, Deadlock};
pub use crate::locks::client::{Client, Drained, Health, LastError};
pub use crate::locks::client::{assert_lock_order, lock_order};
pub use crate::locks::client::{blocking_drain, drain, drain_until};
pub use crate::locks::client::{blocking_ping, health, is_connected, ping};
pub use crate::locks::client::{blocking_shutdown, client, setup, setup_async, shutdown};
pub use crate::locks::condvar::{Condvar, WaitTimeoutResult};
pub use crate::locks::handle::{LockInfo, Waiter};
pub use crate::locks::leader::{Leader, LeaderInfo, LeaderWatch, Overrun, Term};
pub use crate::locks::multi::{MultiGuard, MultiLock};
pub use crate::locks::mutex::{Mutex, MutexGuard, Ticket};
pub use crate::locks::rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use crate::locks::semaphore::{Permit, Semaphore};
#[cfg(feature = "metrics")]
pub use crate::observer::MetricsObserver;
#[cfg(feature = "otel")]
pub use crate::observer::OtelObserver;
pub use crate::observer::{Metric, MetricKind, Observer};
pub use crate::order::{OrderEdge, OrderedLock};
pub use crate::queue::Unfinished;
pub use crate::site::{Site, sites};
pub use crate::store::ServerHealth;
pub use crate::store::credentials::{Credentials, CredentialsProvider, ServerAddress, ServerKind};
pub use crate::store::guarantees::{AfterFailover, AfterRestart, Eviction, Guarantees, Weakness};
#[cfg(feature = "tower")]
pub use crate::tower;
