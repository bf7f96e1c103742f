//! [`Report`]: all figures of a run with the machine that they come from.

mod figures;
mod machine;
mod number;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use machine::Machine;
pub(crate) use number::show as number;

use crate::Failure;
use crate::gate::Verdict;
use crate::measure::Values;
use crate::run::Placement;

/// One repetition of one contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) table: String,
    pub(crate) placement: Placement,
    pub(crate) who: String,
    /// Ratios compare measurements of the same round.
    pub(crate) round: usize,
    pub(crate) values: Values,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) notes: Vec<String>,
    pub(crate) verdicts: Vec<Verdict>,
}

impl Report {
    pub(crate) fn new(machine: Machine) -> Self {
        Self {
            machine,
            measurements: Vec::new(),
            notes: Vec::new(),
            verdicts: Vec::new(),
        }
    }

    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }
}
