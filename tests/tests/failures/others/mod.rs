//! Faults that were seen in other systems.

mod holding;
mod outage;
mod queueing;
