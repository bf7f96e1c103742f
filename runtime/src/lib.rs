//! A distributed lock on Redis: annotate a function, and it runs on one machine of the cluster at a time.
//!
//! [`setup`] connects the program once; [`#[auto_mutex]`](macro@auto_mutex) protects functions:
//!
//! ```no_run
//! use auto_mutex::{LockError, auto_mutex};
//!
//! #[auto_mutex(key = "{month}", block = 10)]
//! fn close_month(month: u32) -> Result<u32, LockError> {
//!     Ok(month)
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     auto_mutex::setup("redis://127.0.0.1:6379")?; // once, at the top of main
//!     close_month(5)?;
//!     Ok(())
//! }
//! ```
//!
//! A call takes the lock, runs the body, and releases the lock, however the body ends. Without a `key`, all instances
//! of a type share one lock. Functions may be sync or async, with any executor or none.
//!
//! # Where to go on
//!
//! - **[The guide](mod@_guide)**: [choosing options](mod@_guide::options), [cron](mod@_guide::cron), [axum](mod@_guide::axum),
//!   [Kubernetes](mod@_guide::kubernetes), [managed Redis](mod@_guide::managed_redis),
//!   [leader election](mod@_guide::leader_election), [fencing](mod@_guide::fencing), [testing](mod@_guide::testing),
//!   [metrics and spans](mod@_guide::observe), [deadlocks](mod@_guide::deadlocks), [lock order](mod@_guide::lock_order),
//!   [a checklist](mod@_guide::production), [troubleshooting](mod@_guide::troubleshooting).
//! - The attributes: [`#[auto_mutex]`](macro@auto_mutex) with every option, [`#[auto_semaphore]`](macro@auto_semaphore),
//!   [`#[auto_read]`](macro@auto_read), [`#[auto_write]`](macro@auto_write), [`#[no_auto_mutex]`](macro@no_auto_mutex).
//! - [`Config`]: every URL, TLS, and the defaults of locks.
//! - Locks by hand: [`Mutex`], [`MultiLock`], [`Semaphore`], [`RwLock`], [`Condvar`].
//! - [`operator`]: the holders and waiters of all locks, for operators. The command `auto-mutex` is built on it.
//! - [`LockError`] and [`SetupError`]: what can go wrong.
//!
//! The library needs Redis 6.2 or newer, and Linux or macOS. For tests there is a store inside the process
//! (`memory://`) that needs no Redis. Each client has a background thread for its connection and timers. So no async
//! runtime is needed.
//!
//! # Features
//!
//! No feature is on by default.
//!
//! | feature | what it adds | more crates |
//! |---|---|---|
//! | `tls` | `rediss://`, and `tls=true` in other URLs: see [`Config`] | 14, and a C compiler |
//! | `tls-no-provider` | `tls` without `ring`: the program installs a cryptography provider for `rustls` | 9 |
//! | `redis-1` | a [`Config`] from the `ConnectionInfo` or the `Client` of the redis crate, version 1, and `Redis1Credentials` for its credential providers | 8 |
//! | `metrics` | [metrics](mod@_guide::observe) for the crate `metrics`: `MetricsObserver` | 3 |
//! | `otel` | [metrics](mod@_guide::observe) for OpenTelemetry: `OtelObserver` | 1 |

#[cfg(not(unix))]
compile_error!(
    "auto-mutex needs a Unix: it watches forks and exits, and a clock that goes on during suspend"
);

mod acl;
mod attribute;
mod caller;
mod client;
mod clock;
mod condvar;
mod config;
mod credentials;
mod deadlock;
#[cfg(repository)]
#[cfg(test)]
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
pub mod operator;
mod order;
mod process;
mod queue;
mod rw_lock;
mod semaphore;
mod site;
mod store;
mod sync;
mod task;
mod wait;
mod wire;

pub use acl::{AclRule, acl_rule};
pub use auto_mutex_macros::{auto_mutex, auto_read, auto_semaphore, auto_write, no_auto_mutex};
pub use client::{Client, Drained, Health, LastError, ServerHealth, Unfinished};
pub use client::{assert_lock_order, lock_order};
pub use client::{blocking_drain, drain, drain_until};
pub use client::{blocking_ping, health, is_connected, ping};
pub use client::{blocking_shutdown, client, setup, setup_async, shutdown};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use config::{Config, Deadlock, IntoDuration};
#[cfg(feature = "redis-1")]
pub use credentials::Redis1Credentials;
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

// The guide. Only rustdoc compiles it.
#[cfg(any(doc, doctest))]
#[path = "guide/mod.rs"]
pub mod _guide;

/// The functions that expansions of the attributes call. Not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}

/// Lets rustdoc test the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
