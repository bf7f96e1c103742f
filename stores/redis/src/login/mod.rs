//! The first messages on a connection to a server or sentinel: greeting, login and its renewal, and what can go wrong.

pub(crate) mod error;
pub(crate) mod hello;
pub(crate) mod renewal;
pub(crate) mod unsuitable;

use std::time::Duration;

/// The shortest pause between two attempts to connect.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(10);
