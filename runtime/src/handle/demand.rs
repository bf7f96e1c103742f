//! [`Demand`]: how much of a name a call wants.

/// How much of a name a call wants, and what that means inside a protected call of the same name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) units: u32,
    /// How many units there are.
    pub(crate) capacity: u32,
    pub(crate) nested: Nested,
}

/// What a task may do that has some of the name already, where its handle does not re-enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nested {
    /// Nothing: more of it would wait for what the task has.
    Refused,
    /// Take more of it.
    Another,
}
