//! What a lock may do, one step after the other: mutex, semaphore and readers-writer lock.

use std::collections::BTreeMap;

use super::Specification;

/// A lock of so many units.
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    /// Its units.
    pub capacity: u32,
}

impl Lock {
    /// One at a time.
    pub fn mutex() -> Self {
        Self { capacity: 1 }
    }
}

/// What happens to one hold, which has a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// It is granted.
    Grant {
        /// Its number.
        hold: usize,
        /// What it takes.
        units: u32,
        /// Its fencing token.
        token: u64,
    },
    /// It goes on with fewer units.
    Shrink {
        /// Its number.
        hold: usize,
        /// What it has from then on.
        units: u32,
    },
    /// It is released, or its lease ends.
    End {
        /// Its number.
        hold: usize,
    },
}

impl Step {
    /// The hold that it is about.
    pub fn hold(&self) -> usize {
        match *self {
            Self::Grant { hold, .. } | Self::Shrink { hold, .. } | Self::End { hold } => hold,
        }
    }
}

/// Who holds what, and the last token.
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

    /// What makes room keeps nobody out.
    fn only_helps(&self, op: &Step) -> bool {
        !matches!(op, Step::Grant { .. })
    }
}
