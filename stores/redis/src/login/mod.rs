//! The first messages on a connection to a server or sentinel: greeting, login and its renewal, and what can go wrong.

pub(crate) mod error;
pub(crate) mod hello;
pub(crate) mod renewal;
