//! The locks of auto-mutex. Use them through the crate [`auto-mutex`](https://docs.rs/auto-mutex), which re-exports
//! them.

mod attribute;
mod background;
mod base;
mod caller;
mod clients;
mod config;
mod deadlock;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod lease;
mod locks;
mod observe;
mod observer;
#[doc(hidden)]
pub mod public;
mod queue;
mod site;
pub mod store;
#[cfg(any(test, feature = "test-util"))]
pub mod test_kit;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub mod testing;
#[cfg(feature = "tower")]
pub mod tower;

#[doc(hidden)]
pub use config::Settings;
#[doc(hidden)]
pub use deadlock::{CycleHops, Records, records};
#[doc(inline)]
pub use public::*;

/// The functions that expansions of the attributes call. Not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::*;
}
