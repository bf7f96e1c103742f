//! What lies between a member and the store: requests and replies in order, messages in any order, and, after a
//! connection broke, late copies of requests.
//!
//! On one connection nothing is overtaken and nothing is lost, as with TCP. A connection that breaks takes its replies
//! and messages with it.

mod connection;
mod packets;

pub use self::connection::Connection;
pub use self::packets::{Answer, Fence, Message, Reply, Request, Ticket, Token, Verb};
