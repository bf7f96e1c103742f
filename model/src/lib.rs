//! The protocol of `docs/protocol.md` as a model whose states a checker can explore.
//!
//! The model has members, one store and the connections between them, and contains no product code. It checks the
//! rules, and shows why each is needed. [`rules`] defines what a run allows and which rule it leaves out, [`world`] the
//! possible steps, `properties` what must hold, and [`runs`] the list of runs. `model/run` explores the runs and prints
//! a table.
//!
//! Tests of the memory store compare it with the model's store (`core/src/store/memory/state/tests`). They need no
//! checker, so the checker is an optional feature.

#![forbid(unsafe_code)]

pub mod deadlock;
pub mod leading;
pub mod member;
pub mod network;
#[cfg(feature = "checker")]
pub mod properties;
pub mod rules;
pub mod runs;
pub mod store;
pub mod world;
