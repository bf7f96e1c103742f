//! The waiters and holds of one process for one name, around the rules of `auto_mutex_protocol::client`. All changes
//! are short [transitions](lock_queue::Transition) under one mutex per name, which never wait and run no user code.

mod acquire;
mod client;
mod enter;
mod events;
mod hold;
mod holds;
#[cfg(all(test, shuttle, repository))]
mod interleavings;
mod lead;
mod leave;
mod lock_queue;
#[cfg(any(test, feature = "test-util"))]
mod replay;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod waiter;
mod waits;
mod warnings;
mod watch;
mod witness;

pub(crate) use self::watch::{Watch, warn_of_timeout};
pub(crate) use acquire::Acquire;
pub use client::ClientCore;
pub(crate) use client::NAP;
pub use client::Unfinished;
pub(crate) use hold::{FencingToken, Hold};
pub(crate) use holds::{Holds, Stay, held_by_hand};
pub(crate) use lead::Lead;
pub(crate) use lock_queue::{Answered, Confirmed, LockQueue, OpenClient};
pub(crate) use waiter::{Patience, Requester, Want};
pub use witness::{Witness, Witnessed};
