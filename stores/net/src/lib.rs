//! What the engines that talk to servers have in common: how a connection is made, watched and made again. Nothing here
//! knows what is said on a connection.
//!
//! - [`Url`]: the parts of a URL.
//! - [`socket`]: TCP, socket files, and TLS.
//! - [`unconnected`]: a store whose connections are made again, with [`Backoff`]; what goes wrong is said with
//!   [`Throttle`].
//! - [`Watchdog`]: when a silent connection is given up.
//! - [`Courtesy`]: lets a woken task run first.

mod backoff;
mod courtesy;
mod reconnect;
pub mod socket;
mod throttle;
mod url;
mod watchdog;

pub use self::backoff::Backoff;
pub use self::courtesy::Courtesy;
pub use self::reconnect::*;
pub use self::throttle::Throttle;
pub use self::url::{Url, host_and_port, number};
pub use self::watchdog::{BEAT, Watchdog};
