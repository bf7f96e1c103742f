//! Annotate a function; it runs on one machine of the cluster at a time.

mod attribute;
mod client;
mod clock;
mod config;
mod engine;
mod error;
mod lease;
mod member;
mod mutex;
mod name;
mod process;
mod queue;
mod store;
mod task;
mod wait;

pub use auto_mutex_macros::{auto_mutex, no_auto_mutex};
pub use client::{Client, blocking_shutdown, client, setup, shutdown};
pub use config::{Config, Seconds};
pub use error::{Holder, LockError, SetupError, StoreError};
pub use mutex::{LockInfo, Mutex, MutexGuard, Ticket, Waiting};
pub use process::release_on_termination;

/// For what the attributes expand to; not for people.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
