//! TLS, over our own TCP connections or over connections that the program makes.
//!
//! - `trust.rs`: reads the trusted certificates, and the client's own certificate and key, from files.
//! - `session.rs`: one TLS connection, which encrypts what is written and decrypts what is read.
//! - `fault.rs`: the cause of a failure, and what to fix.

mod fault;
mod session;
#[cfg(repository)]
#[cfg(all(test, feature = "tls"))]
mod tests;
mod trust;

pub(super) use self::session::Session;
pub(super) use self::trust::trust;
