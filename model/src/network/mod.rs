//! The network between a member and the store: requests and replies in order, messages in any order, and late copies of
//! requests after a connection broke.
//!
//! As with TCP, one connection neither loses nor reorders requests and replies. A connection that breaks loses its
//! replies and messages.

mod connection;
mod packets;

pub use self::connection::Connection;
pub use self::packets::{Answer, Fence, Message, Reply, Request, Ticket, Token, Verb};
