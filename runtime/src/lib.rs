//! Annotate a function; it runs on one machine of the cluster at a time.
//!
//! [`setup`] connects once, [`auto_mutex`](macro@auto_mutex) protects functions:
//!
//! ```no_run
//! use auto_mutex::{LockError, auto_mutex};
//!
//! #[auto_mutex(expire = 100, block = 10)]
//! fn close_month(month: u32) -> Result<u32, LockError> {
//!     Ok(month)
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     auto_mutex::setup("redis://127.0.0.1:6379")?;
//!     close_month(5)?;
//!     Ok(())
//! }
//! ```
//!
//! The attribute is built on a lock library that can be used directly: [`Mutex`], [`MultiLock`], [`Semaphore`],
//! [`RwLock`], [`Condvar`]. It works for sync and async functions, under any executor or none, in the process itself
//! (`memory://`, for tests) and on Redis 6.2 or newer, on Linux and macOS. The README of the project says what it
//! guarantees, and what a lock with a lease cannot guarantee.
//!
//! # How it is built
//!
//! Each layer knows only those below it: the attribute and the handles; the local queue of each name and process, whose
//! holds have a lease; the store. Each client has a thread, the engine, that owns the connection and the timers, so it
//! does not matter whether a runtime is missing or ends.

#[cfg(not(unix))]
compile_error!(
    "auto-mutex needs a Unix: it watches forks and exits, and a clock that goes on during suspend"
);

mod acl;
mod attribute;
mod client;
mod clock;
mod condvar;
mod config;
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
pub use client::{Client, blocking_shutdown, client, setup, shutdown};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use config::{Config, IntoDuration};
pub use error::{Holder, LockError, SetupError, StoreError, TlsError};
pub use guarantees::{AfterFailover, AfterRestart, Eviction, Guarantees, Weakness};
pub use handle::{LockInfo, Waiting};
pub use multi::{MultiGuard, MultiLock};
pub use mutex::{Mutex, MutexGuard, Ticket};
pub use process::release_on_termination;
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use site::{Site, sites};

/// What the attributes expand to. Not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The examples of the guide for users of other libraries.
#[cfg(doctest)]
#[doc = include_str!("../../docs/migration.md")]
struct Migration;
