//! The search for deadlocks as a model of its own: tasks that take several locks, and one search among their steps.
//!
//! Tasks lock and release in any order, for ever. The store is a plain queue per name: how it grants is the subject of the
//! other model. [`world`] says what can happen, [`search`] what a search does, [`graph`] which waits never end, [`truth`]
//! what is true, `properties` what must hold, [`runs`] which runs there are.
//!
//! The runtime's tests replay walks through this model against its own search
//! (`runtime/src/deadlock/tests/of_model.rs`).

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

/// A ticket, a token, or the identity of a wait. 0: one that is no more.
pub type Id = u16;
