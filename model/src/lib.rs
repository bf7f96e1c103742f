//! The search for deadlocks as a model whose states a checker can explore. The rules of one name and of leading need no model:
//! `explorer/` explores them as they ship.
//!
//! The model contains no product code. It shows that its rules suffice, and why each is needed: `rules` in its folder says
//! what a run allows and which rule it leaves out, `world` the possible steps, `properties` what must hold, and `runs`
//! lists the runs. `model/run` explores them and prints a table.
//!
//! Tests of the runtime replay walks through the model of the search (`core/src/deadlock/tests`). They need no checker, so
//! the checker is an optional feature.

#![forbid(unsafe_code)]

#[cfg(feature = "checker")]
pub mod check;
pub mod deadlock;
#[cfg(feature = "checker")]
mod table;
