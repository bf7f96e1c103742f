//! Sockets, bytes, and RESP3. This folder knows neither commands nor the meaning of replies.

mod connection;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod inbox;
mod limits;
mod outbox;
#[cfg(repository)]
#[cfg(test)]
mod tests;
#[cfg(feature = "tls-no-provider")]
mod tls;
mod value;

pub(super) use self::connection::Connection;
pub(super) use self::inbox::Inbox;
pub(crate) use self::limits::Limits;
pub(super) use self::outbox::Outbox;
pub(super) use self::value::ErrorReply;
pub(crate) use self::value::Value;
