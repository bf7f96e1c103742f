//! The locks of auto-mutex. Use them through the crate [`auto-mutex`](https://docs.rs/auto-mutex), which re-exports
//! them.

mod attribute;
mod background;
mod caller;
mod deadlock;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod hook;
mod lease;
mod locks;
mod observe;
mod order;
#[doc(hidden)]
pub mod public;
mod queue;
mod site;
#[cfg(feature = "tower")]
pub mod tower;

/// The test kit, for the tests of this crate: a dev-dependency would bring another copy of the locks.
#[cfg(repository)]
#[cfg(test)]
#[path = "../../testkit/src/lib.rs"]
#[doc(hidden)]
pub mod test_kit;

/// The files of the kit name this crate.
#[cfg(test)]
extern crate self as auto_mutex_core;
#[cfg(test)]
use auto_mutex_memory as _;

#[doc(inline)]
pub use auto_mutex_seam::store;
use auto_mutex_seam::{base, config, observer};
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
