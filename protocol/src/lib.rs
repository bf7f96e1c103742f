//! The rules of the locks of [auto-mutex](https://docs.rs/auto-mutex), as values: without a clock, a socket, a thread
//! or randomness, all of which come in as parameters. Use them through that crate.
//!
//! - Words: an operation ([`Op`]) on a name, the [`Reply`] of its store, and a [`Message`] of the store to a member.
//! - [`State`]: the state of one name in a store, and the rules for it. The memory store runs it; the scripts for Redis
//!   and the functions for PostgreSQL are compared with it.
//! - [`client`]: the calls of one client for one name.
//! - [`leading`]: what a leader does around its call.
//! - [`deadlock`]: the search for deadlocks across clients.
//! - [`Limits`]: every duration, with the standard ones in [`LIMITS`].
//!
//! `docs/protocol.md` defines them.

// The tests have the standard library.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod client;
mod closed;
pub mod deadlock;
#[cfg(any(test, feature = "test-util"))]
mod dice;
mod id;
mod instant;
mod kind;
pub mod leading;
mod limits;
#[cfg(any(test, feature = "test-util"))]
mod link;
mod loss;
mod message;
mod node;
mod op;
pub mod quorum;
mod reply;
mod request;
mod seal;
mod shared_str;
mod store;
mod store_error;
#[cfg(any(test, feature = "test-util"))]
mod visit;

pub use self::closed::{Cause, Closed};
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub use self::dice::Dice;
pub use self::id::{MemberId, Ticket};
pub use self::instant::{Instant, between, drift};
pub use self::kind::{HoldKind, LockKind, RW_LOCK};
pub use self::limits::{LIMITS, Limits, TOKENS_END, TOKENS_OF_A_GRANT};
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub use self::link::{Link, Sent};
pub use self::loss::LossCause;
pub use self::message::Message;
pub use self::node::{Node, NodeChange};
pub use self::op::{Lease, Mode, Op, Retain, Share, Signal, millis};
pub use self::reply::{HolderRecord, KickRecord, NameRecord, Reply, TicketRecord};
pub use self::request::{Answer, Request, RequestId, not_yet};
pub use self::shared_str::SharedStr;
pub use self::store::{BytesError, Env, State};
pub use self::store_error::{StoreError, StoreErrorKind};
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub use self::visit::{Visitor, fencing};
