//! The quorum: several independent Redis servers, of which a majority decides by the rules of `docs/protocol.md`. This
//! folder decides which request goes to which server, and merges the answers; each server has a Redis store of its own.
//! A server may be down, slow or restarted empty: after one majority has granted, no other can.

mod acquire;
mod answers;
mod backoff;
mod collision;
mod condvar;
mod driver;
mod inspector;
mod job;
mod machine;
mod merge;
mod nodes;
mod query;
mod release;
mod renew;
#[cfg(repository)]
#[cfg(test)]
mod simulation;
mod store;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod ticket;
mod votes;
mod wake;
mod wake_queue;

pub(crate) use self::driver::open;
pub(super) use self::inspector::Inspector;
pub(super) use self::wake_queue::is_wake_queue;
