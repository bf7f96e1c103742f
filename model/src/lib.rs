//! The protocol of `docs/protocol.md` as a model that a checker can go through, state by state.
//!
//! Members, one store and the connections between them, without any of the product's code: this checks the rules, and what each
//! of them is for. [`rules`] says what a run allows and which rule it leaves out, [`world`] what can
//! happen, `properties` what must hold, [`runs`] which runs there are. `model/run` makes them and prints a table.
//!
//! The tests of the memory store compare it with the model's store (`runtime/src/store/memory/state/tests`). They need no checker,
//! so the checker is a feature.

#![forbid(unsafe_code)]

pub mod deadlock;
pub mod member;
pub mod network;
#[cfg(feature = "checker")]
pub mod properties;
pub mod rules;
pub mod runs;
pub mod store;
pub mod world;
