//! The wire: sockets, bytes, and the protocol RESP3 that is spoken over them. Which commands are sent and what their
//! replies mean is not known here.
//!
//! - `stream/`: a socket, opened, and its two halves; which kinds there are, TLS among them. `connection.rs`: question and answer over it;
//!   `limits.rs`: for how long.
//! - `words.rs`: a command as bytes. `outbox.rs`: bytes on their way out.
//! - `inbox.rs`: bytes that came in; `frame.rs` finds where a reply ends, `value.rs` reads it.

mod connection;
mod frame;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod inbox;
mod limits;
mod outbox;
mod stream;
#[cfg(test)]
mod tests;
mod value;
mod words;

pub(super) use self::connection::Connection;
pub(super) use self::inbox::Inbox;
pub(crate) use self::limits::{Limits, USUAL_SILENCE};
pub(super) use self::outbox::Outbox;
pub(super) use self::stream::{Reading, Writing, speaks_tls};
pub(super) use self::value::ErrorReply;
pub(crate) use self::value::Value;
pub(super) use self::words::{Words, command};
