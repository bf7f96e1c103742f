//! Looks at every state that the rules of a lock can reach.
//!
//! There are no rules here: clients are [`client::State`](auto_mutex_protocol::client::State)s and the store is a
//! [`State`](auto_mutex_protocol::State), as they ship. What is here is all around them: a network, clocks, crashes,
//! restarts and failovers ([`world`]), what must hold ([`properties`]), and the runs ([`runs`]).
//! [`several`] has calls for several names, and [`leading`] puts a seat on each client.
//!
//! `cargo test -p auto-mutex-explorer` explores the small runs, with `-- --ignored` the large ones. Faults of the rules that they
//! find are in `tests/faults`.

pub mod check;
pub mod deadlock;
pub mod leading;
pub mod properties;
pub mod quorum;
pub mod rules;
pub mod runs;
pub mod several;
pub mod world;
