//! What TLS needs: trust, the session of a connection, and what its errors mean.

mod fault;
mod session;
mod trust;

pub use self::fault::{of as fault, of_handshake};
pub(super) use self::session::Session;
pub use self::trust::{Trust, Verifier, trust, trust_of};
