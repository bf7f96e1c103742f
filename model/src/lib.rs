//! The protocol of `docs/protocol.md` as a model that a checker can go through, state by state.
//!
//! Members, one store and what lies between them, without any of the product's code: what is checked here are the rules,
//! and what each of them is for. [`rules`] says what a run allows and which rule it leaves out, [`world`] what can
//! happen, `properties` what must hold, [`runs`] which runs there are. `model/run` makes them and prints a table.
//!
//! That the store of the model and the memory store do the same is shown by the tests of the latter. They need no checker, so
//! everything that does is behind the feature `checker`.

#![forbid(unsafe_code)]

pub mod member;
pub mod network;
#[cfg(feature = "checker")]
pub mod properties;
pub mod rules;
pub mod runs;
pub mod store;
pub mod world;
