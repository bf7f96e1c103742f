//! The process around the locks: its end, its forks, its signals.
//!
//! [`os`] is the one place with `unsafe`; everything else here is plain code.

mod exit;
mod os;
mod signals;

pub(crate) use exit::watch;
pub(crate) use os::forks;
pub use signals::release_on_termination;
