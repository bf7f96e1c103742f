//! The network between a member and the store: requests and replies in order, messages in any order, and late copies of
//! requests after a connection broke.
//!
//! As with TCP, a connection neither loses nor reorders requests and replies while it lasts. When it breaks, its
//! replies and messages are lost.

mod connection;
mod packets;

pub use self::connection::Connection;
pub use self::packets::{
    Answer, Fence, Granted, Message, Reply, Request, Retain, Ticket, Token, Verb, Wish,
};
