//! [`Demand`]: how much of a lock a call asks for.

use crate::store::{Share, SharedStr};

/// How much of a lock a call asks for, and what happens if the calling task already holds a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) units: u32,
    /// How many units there are.
    pub(crate) capacity: u32,
    /// A signalled token will do instead of the unit.
    pub(crate) takes_token: bool,
    /// Whether a task that has some units may ask for more of them. If not, the task would wait for itself.
    pub(crate) may_add: bool,
}

impl Demand {
    /// The demand in the form of the store, without an owner.
    pub(crate) fn share(&self) -> Share {
        Share {
            units: self.units,
            capacity: self.capacity,
            takes: self.takes_token,
            owner: SharedStr::default(),
        }
    }
}
