//! A distributed lock on Redis or PostgreSQL: annotate a function, and it runs on one machine of the cluster at a time.
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
//!   [Kubernetes](mod@_guide::kubernetes), [managed Redis](mod@_guide::managed_redis), [PostgreSQL](mod@_guide::postgres),
//!   [leader election](mod@_guide::leader_election), [fenced writes](mod@_guide::fencing), [testing](mod@_guide::testing),
//!   [metrics and spans](mod@_guide::observe), [deadlocks](mod@_guide::deadlocks), [lock order](mod@_guide::lock_order),
//!   [a checklist](mod@_guide::production), [troubleshooting](mod@_guide::troubleshooting).
//! - The attributes: [`#[auto_mutex]`](macro@auto_mutex) with every option, [`#[auto_semaphore]`](macro@auto_semaphore),
//!   [`#[auto_read]`](macro@auto_read), [`#[auto_write]`](macro@auto_write), [`#[auto_leader]`](macro@auto_leader),
//!   [`#[no_auto_mutex]`](macro@no_auto_mutex).
//! - [`Config`]: every URL, TLS, and the defaults of locks.
//! - Locks by hand: [`Mutex`], [`MultiLock`], [`Semaphore`], [`RwLock`], [`Condvar`].
//! - [`operator`]: the holders and waiters of all locks, for operators (feature `operator`). The command `auto-mutex` is
//!   built on it.
//! - [`LockError`] and [`SetupError`]: what can go wrong.
//!
//! The library needs Redis 6.2 or newer, or PostgreSQL 14 or newer, and Linux, macOS or Windows (there without socket files and
//! [`release_on_termination`]). For tests there are a store inside the process (`memory://`) that needs no server, and [virtual time with faults](mod@_guide::testing). Each client
//! has a background thread for its connection and timers, so no async runtime is needed.
//!
//! # Features
//!
//! No feature is on by default: then there are one Redis (or a service behind sentinels) and `memory://`. To turn on
//! others: `cargo add auto-mutex --features cluster,quorum,tls`. A URL or option that needs a missing feature is an error
//! that names it.
//!
//! | feature | what it adds | more crates |
//! |---|---|---|
//! | `cluster` | Redis Cluster: `redis-cluster://` | none |
//! | `postgres` | PostgreSQL 14 or newer: `postgres://`; see [the chapter](mod@_guide::postgres) | 1 of ours; tokio-postgres and 41 that it needs |
//! | `quorum` | a majority of independent servers: `redlock://` and [`Config::quorum`] | 1 of ours |
//! | `replicas` | grants that count only once replicas have them: [`Config::replicas`] | none |
//! | `operator` | the module [`operator`] | 1 of ours |
//! | `tls` | `rediss://`, `tls=true` in other URLs, and `sslmode` of PostgreSQL: see [`Config`] | 13, and a C compiler |
//! | `tls-no-provider` | `tls` without `ring`: the program installs a cryptography provider for `rustls` | 8 |
//! | `metrics` | [metrics](mod@_guide::observe) for the crate `metrics`: `MetricsObserver` | 3 |
//! | `otel` | [metrics](mod@_guide::observe) for OpenTelemetry: `OtelObserver` | 1 |
//! | `tower` | a [layer](mod@_guide::axum) that gives the requests of axum, tonic and other tower servers their client: `tower::ScopeLayer` | 2 |
//! | `test-util` | for your [tests](mod@_guide::testing): the module [`test`](mod@test) and [`#[auto_mutex::test]`](macro@test): hosts, a network and a lock store in virtual time, and faults on demand | 1 of ours |
//!
//! The locks themselves are in the crate `auto-mutex-core`, and this crate exports them.

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
