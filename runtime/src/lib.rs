//! Annotate a function; it runs on one machine of the cluster at a time.

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

pub use client::{Client, blocking_shutdown, client, setup, shutdown};
pub use config::{Config, Seconds};
pub use error::{Holder, LockError, SetupError, StoreError};
pub use mutex::{LockInfo, Mutex, MutexGuard, Waiting};
pub use process::release_on_termination;
