//! Tests of the computation and the messages, and of the whole search on a virtual clock with a hostile network
//! ([`simulation`]).

mod graphs;
mod of_model;
mod probes;
mod questions;
mod records;
mod simulation;
