//! Looks at every state that the rules of a lock can reach.
//!
//! There are no rules here: what runs is `auto-mutex-protocol`, as it ships. What is here is all around it: networks,
//! clocks and mishaps, and what must hold.
//!
//! | folder | what is explored |
//! |---|---|
//! | [`name`] | the calls of several clients for one name, and its store |
//! | [`several`] | calls for several names |
//! | [`condvar`] | condition variables |
//! | [`leading`] | a seat on each client |
//! | [`deadlock`] | the search for deadlocks |
//! | [`quorum`] | the rounds of a quorum: in all states of small ones, and at random |
//!
//! `cargo test -p auto-mutex-explorer` explores the small runs, with `-- --ignored` the large ones. Faults of the rules
//! that they find are in `tests/faults`. `explorer/coverage` prints which lines of `protocol/` they reach.

pub mod check;
pub mod condvar;
pub mod deadlock;
pub mod leading;
pub mod name;
pub mod quorum;
pub mod several;
