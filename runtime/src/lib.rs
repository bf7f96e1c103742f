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
//! Under the attribute lies a lock library that is also good to use by hand: [`Mutex`], [`MultiLock`], [`Semaphore`], [`RwLock`]. It works for
//! sync and async functions, under any executor or none, in the process itself (`memory://`, for tests) and on
//! Redis 6.2 or newer. What it promises, and what a lock with a lease cannot promise, is said in the README of the
//! project. Linux and macOS.
//!
//! # How it is built
//!
//! Each layer knows only those below it: the attribute and the handles; the local queue of each name and process, whose
//! holds have a lease; the store. A thread of its own per client, the engine, owns the connection and the timers, so
//! neither a missing nor a dying runtime matters.

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

pub use acl::{AclRule, acl_rule};
pub use auto_mutex_macros::{auto_mutex, auto_read, auto_semaphore, auto_write, no_auto_mutex};
pub use client::{Client, blocking_shutdown, client, setup, shutdown};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use config::{Config, Seconds};
pub use error::{Holder, LockError, SetupError, StoreError, TlsError};
pub use guarantees::{AfterFailover, AfterRestart, Eviction, Guarantees, Weakness};
pub use handle::{LockInfo, Waiting};
pub use multi::{MultiGuard, MultiLock};
pub use mutex::{Mutex, MutexGuard, Ticket};
pub use process::release_on_termination;
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use site::{Site, sites};

/// For what the attributes expand to; not for people.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The examples of the page for those who come from another library.
#[cfg(doctest)]
#[doc = include_str!("../../docs/migration.md")]
struct Migration;
