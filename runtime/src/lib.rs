//! A distributed lock on Redis or PostgreSQL: annotate a function, and it runs on one machine of the cluster at a time.
//!
//! It is for services whose processes share jobs, files or accounts, sync or async, with any executor or none.
//!
//! ```
//! use auto_mutex::{LockError, auto_mutex};
//!
//! #[auto_mutex(key = "{month}", block = 10)] // a lock for each month; waits 10 s at most
//! fn close_month(month: u32) -> Result<u32, LockError> {
//!     Ok(month)
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     auto_mutex::setup("memory://")?; // in production `redis://…`, once, at the top of main
//!     assert_eq!(close_month(5)?, 5);
//!     Ok(())
//! }
//! ```
//!
//! A call takes the lock, runs the body, and releases the lock, however the body ends. Without a `key`, all instances
//! of a type share one lock.
//!
//! # Where to go on
//!
//! - **[The guide](mod@_guide)**, chapter by chapter, from [options](mod@_guide::options) to
//!   [troubleshooting](mod@_guide::troubleshooting).
//! - The attributes: [`#[auto_mutex]`](macro@auto_mutex) with every option,
//!   [`#[auto_semaphore]`](macro@auto_semaphore), [`#[auto_read]`](macro@auto_read),
//!   [`#[auto_write]`](macro@auto_write), [`#[auto_leader]`](macro@auto_leader),
//!   [`#[no_auto_mutex]`](macro@no_auto_mutex).
//! - Locks by hand: [`Mutex`], [`MultiLock`], [`Semaphore`], [`RwLock`], [`Condvar`], [`Leader`].
//! - [`setup`] and [`Config`]: every URL, TLS, and the defaults of locks.
//! - [`LockError`] and [`SetupError`]: what can go wrong.
//!
//! It needs Redis 6.2 or newer, or PostgreSQL 14 or newer, and Linux, macOS or Windows (there without socket files and
//! [`release_on_termination`]). `memory://` needs no server. Each client has a background thread for its connection and
//! timers.
//!
//! # Features
//!
//! No feature is on by default: one Redis, Sentinel and `memory://` need none. A URL or option that needs a missing
//! feature is an error that names it.
//!
//! | feature | what it adds | more crates |
//! |---|---|---|
//! | `cluster` | Redis Cluster: `redis-cluster://` | none |
//! | `postgres` | [PostgreSQL](mod@_guide::postgres): `postgres://` | 1 of ours; tokio-postgres and 41 that it needs |
//! | `quorum` | a majority of independent servers: `redlock://` and [`Config::quorum`] | 1 of ours |
//! | `replicas` | grants that count only once replicas have them: [`Config::replicas`] | none |
//! | `operator` | the holders and waiters of all locks: the module [`operator`] | 1 of ours |
//! | `tls` | `rediss://`, `tls=true` in other URLs, and `sslmode` of PostgreSQL: see [`Config`] | 13, and a C compiler |
//! | `tls-no-provider` | `tls` without `ring`: the program installs a cryptography provider for `rustls` | 8 |
//! | `metrics` | [metrics](mod@_guide::observe) for the crate `metrics`: `MetricsObserver` | 3 |
//! | `otel` | [metrics](mod@_guide::observe) for OpenTelemetry: `OtelObserver` | 1 |
//! | `tower` | a [layer](mod@_guide::axum) for axum, tonic and other tower servers: `tower::ScopeLayer` | 2 |
//! | `test-util` | [tests](mod@_guide::testing) in virtual time, with faults on demand: the module [`test`](mod@test) and [`#[auto_mutex::test]`](macro@test) | 1 of ours |
//!
//! The locks themselves are in the crate `auto-mutex-core`, which this crate re-exports.

// Links the engines: they register themselves.
use auto_mutex_memory as _;
#[cfg(feature = "postgres")]
use auto_mutex_postgres as _;
#[cfg(feature = "quorum")]
use auto_mutex_quorum as _;

#[cfg(feature = "test-util")]
pub use auto_mutex_macros::test;
pub use auto_mutex_macros::{auto_leader, auto_mutex, no_auto_mutex};
pub use auto_mutex_macros::{auto_read, auto_semaphore, auto_write};

#[doc(inline)]
pub use auto_mutex_core::public::*;
#[doc(inline)]
#[cfg(feature = "operator")]
pub use auto_mutex_operator as operator;
#[doc(inline)]
pub use auto_mutex_redis::{AclRule, acl_rule};
#[doc(inline)]
#[cfg(feature = "test-util")]
pub use auto_mutex_test as test;

// The guide. Only rustdoc compiles it.
#[cfg(any(doc, doctest))]
#[path = "guide/mod.rs"]
pub mod _guide;

/// The functions that expansions of the attributes call. Not for direct use.
#[doc(hidden)]
pub use auto_mutex_core::__private;

/// For the fuzzers.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use auto_mutex_core::fuzzing::*;
    pub use auto_mutex_redis::fuzzing::*;
}

/// Lets rustdoc test the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
