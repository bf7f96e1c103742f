//! Annotate a function; it runs on one machine of the cluster at a time.

mod clock;
mod config;
mod error;
mod name;
mod store;

pub use config::{Config, Seconds};
pub use error::{Holder, LockError, SetupError, StoreError};
