//! The quorum: several independent Redis servers, of which a majority decides, by the rules in `docs/protocol.md`. Each
//! server has a Redis store of its own; this crate decides which request goes to which, and merges the answers.

mod acquire;
mod answers;
mod backoff;
mod collision;
mod condvar;
mod driver;
mod engine;
mod inspector;
mod machine;
mod nodes;
mod query;
mod release;
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
