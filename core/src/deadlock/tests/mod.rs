//! Tests of the computation and the messages, and of the whole search by random programs with faults
//! ([`simulation`]).

mod graphs;
#[cfg(not(shuttle))]
mod of_model;
mod probes;
mod questions;
mod records;
mod simulation;
mod warnings;
