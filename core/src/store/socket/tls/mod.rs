//! What TLS needs before and after a handshake.

mod fault;
mod trust;

pub use self::fault::{of as fault, of_handshake};
pub use self::trust::{Trust, Verifier, trust, trust_of};
