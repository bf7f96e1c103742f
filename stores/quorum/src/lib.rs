//! The quorum: several independent Redis servers, of which a majority decides, by the rules in `docs/protocol.md`. Each
//! server has its own Redis store. This crate decides which requests go to which server, and merges the answers.

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
