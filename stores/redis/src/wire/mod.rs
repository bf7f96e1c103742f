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
mod value;

use std::path::PathBuf;

pub(super) use self::connection::Connection;
pub(crate) use self::limits::{Limits, USUAL_SILENCE};
pub(super) use self::outbox::Outbox;
pub(super) use self::stream::speaks_tls;
pub(super) use self::value::ErrorReply;
pub(crate) use self::value::Value;
use auto_mutex_core::store::Dialer;

/// How a connection is made, without its login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transport {
    /// `None`: plain TCP.
    pub(crate) tls: Option<Tls>,
    /// `None`: the library connects by itself.
    pub(crate) dialer: Option<Dialer>,
}

/// The certificates that the client trusts, and the certificate that it presents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The file of trusted certificates; `None`: the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The files of the client certificate and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate must have; `None`: the host of the address.
    pub(crate) server_name: Option<String>,
}
