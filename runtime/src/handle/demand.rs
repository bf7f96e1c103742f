//! [`Demand`]: how much of a name a call wants.

use crate::store::{Share, Text};

/// How much of a name a call wants, and what that means inside a protected call of the same name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) units: u32,
    /// How many units there are.
    pub(crate) capacity: u32,
    /// A signalled token will do instead of the unit.
    pub(crate) takes_token: bool,
    pub(crate) nested: Nested,
}

impl Demand {
    /// It as the store takes it, for nobody in particular.
    pub(crate) fn share(&self) -> Share {
        Share {
            units: self.units,
            capacity: self.capacity,
            takes: self.takes_token,
            owner: Text::default(),
        }
    }
}

/// What a task may do that has some of the name already, where its handle does not re-enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nested {
    /// Nothing: more of it would wait for what the task has.
    Refused,
    /// Take more of it.
    Another,
}
