//! A separate model of the search for deadlocks: tasks that take several locks, and one search between their steps.
//!
//! Tasks take locks in any order and release the last one first, endlessly. The store is a plain queue per name,
//! because the other model covers how the store grants. [`world`] defines the possible steps, [`search`] those of a
//! search, [`graph`] which waits never end, [`truth`] which tasks are really deadlocked, `properties` what must hold,
//! and [`runs`] the list of runs.
//!
//! The runtime's tests replay walks through this model against its own search
//! (`core/src/deadlock/tests/of_model.rs`).

#[cfg(feature = "checker")]
pub mod check;
pub mod graph;
mod normal;
#[cfg(feature = "checker")]
pub mod properties;
pub mod rules;
pub mod runs;
pub mod search;
pub mod truth;
pub mod world;

/// The number of a ticket, token or wait. 0 stands for a number that is no longer in use.
pub type Id = u16;
