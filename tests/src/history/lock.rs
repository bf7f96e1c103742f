//! The specification of a mutex, a semaphore and a readers-writer lock.

use std::collections::BTreeMap;

use super::Specification;

/// A lock with a number of units.
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    /// The number of units.
    pub capacity: u32,
}

impl Lock {
    /// A lock of one unit.
    pub fn mutex() -> Self {
        Self { capacity: 1 }
    }
}

/// An operation on one hold. Each hold has a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The hold is granted.
    Grant {
        /// The number of the hold.
        hold: usize,
        /// The units that the hold takes.
        units: u32,
        /// The hold's fencing token.
        token: u64,
    },
    /// The hold continues with fewer units.
    Shrink {
        /// The number of the hold.
        hold: usize,
        /// The units that the hold keeps.
        units: u32,
    },
    /// The hold is released, or its lease ends.
    End {
        /// The number of the hold.
        hold: usize,
    },
}

impl Step {
    /// The number of the hold.
    pub fn hold(&self) -> usize {
        match *self {
            Self::Grant { hold, .. } | Self::Shrink { hold, .. } | Self::End { hold } => hold,
        }
    }
}

/// The units of each hold, and the last token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Holders {
    units: BTreeMap<usize, u32>,
    token: u64,
}

impl Specification for Lock {
    type State = Holders;
    type Op = Step;

    fn step(&self, state: &Holders, op: &Step) -> Option<Holders> {
        let mut next = state.clone();
        match *op {
            Step::Grant { hold, units, token } => {
                let used: u32 = state.units.values().sum();
                if used + units > self.capacity || token <= state.token {
                    return None;
                }
                next.units.insert(hold, units);
                next.token = token;
            }
            Step::Shrink { hold, units } => {
                let held = next.units.get_mut(&hold)?;
                *held = units.min(*held);
            }
            Step::End { hold } => {
                next.units.remove(&hold)?;
            }
        }
        Some(next)
    }

    fn rank(&self, op: &Step) -> Option<u64> {
        match *op {
            Step::Grant { token, .. } => Some(token),
            _ => None,
        }
    }

    /// A step that frees units never prevents a grant.
    fn only_helps(&self, op: &Step) -> bool {
        !matches!(op, Step::Grant { .. })
    }
}
