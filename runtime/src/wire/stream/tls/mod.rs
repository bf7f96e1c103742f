//! TLS over TCP.
//!
//! - `trust.rs`: whom to trust and who we are, from files. `session.rs`: a connection, both ways.
//! - `fault.rs`: what went wrong, and what has to be fixed.

mod fault;
mod session;
#[cfg(test)]
mod tests;
mod trust;

pub(super) use self::session::Session;
pub(super) use self::trust::trust;
