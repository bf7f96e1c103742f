//! From what was seen to figures. Nothing here starts anything.

pub(crate) mod cpu;
mod fairness;
mod overlap;
pub(crate) mod record;
mod summary;
mod turns;

pub(crate) use fairness::jain;
pub(crate) use overlap::overlaps;
pub(crate) use summary::{Summary, percentile};
pub(crate) use turns::{Values, handovers, turns};
