//! The wire: sockets, bytes, and the protocol RESP3. This folder does not know which commands are sent or what replies mean.
//!
//! - `stream/`: opens a socket, plain or TLS, and splits it in two halves. `connection.rs`: requests and replies over
//!   it; `limits.rs`: the time limits.
//! - `outbox.rs`: bytes to send. (The redis crate encodes the commands.)
//! - `inbox.rs`: received bytes; `frame.rs` finds the end of a reply, `value.rs` decodes it.

mod connection;
mod frame;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod inbox;
mod limits;
mod outbox;
mod stream;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod transport;
mod value;

pub(super) use self::connection::Connection;
pub(crate) use self::limits::{Limits, USUAL_SILENCE};
pub(super) use self::outbox::Outbox;
pub(super) use self::stream::speaks_tls;
pub(crate) use self::transport::{Tls, Transport};
pub(super) use self::value::ErrorReply;
pub(crate) use self::value::Value;
