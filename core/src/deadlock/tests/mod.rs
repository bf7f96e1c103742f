//! Tests of the whole search by random programs with faults ([`simulation`]).

mod simulation;
mod warnings;
