//! TLS over TCP.
//!
//! - `trust.rs`: trusted certificates and the client's own, from files. `session.rs`: a connection, both ways.
//! - `fault.rs`: the cause of a failure, and what to fix.

mod fault;
mod session;
#[cfg(repository)]
#[cfg(all(test, feature = "tls"))]
mod tests;
mod trust;

pub(super) use self::session::Session;
pub(super) use self::trust::trust;
