//! Turns records into figures. This module starts no process.

pub(crate) mod cpu;
mod fairness;
mod overlap;
pub(crate) mod record;
mod summary;
mod turns;

pub(crate) use fairness::jain;
pub(crate) use overlap::overlaps;
pub(crate) use summary::{Summary, percentile};
pub(crate) use turns::{Values, handoffs, turns};
