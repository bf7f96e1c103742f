//! What a fenced register may do, one step after the other.

use super::Specification;

/// A register that takes nothing under a token that is older than one that it has seen.
#[derive(Clone, Copy, Debug)]
pub struct Register;

/// Read, and perhaps written, under one token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// The fencing token.
    pub token: u64,
    /// What was read.
    pub read: String,
    /// What was written; `None`: nothing.
    pub wrote: Option<String>,
}

/// What is in it, and the last token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content {
    value: String,
    token: u64,
}

impl Specification for Register {
    type State = Content;
    type Op = Update;

    fn step(&self, state: &Content, op: &Update) -> Option<Content> {
        let fits = op.token >= state.token && op.read == state.value;
        let value = op.wrote.as_ref().unwrap_or(&state.value);
        fits.then(|| Content {
            value: value.clone(),
            token: op.token,
        })
    }

    fn rank(&self, op: &Update) -> Option<u64> {
        Some(op.token)
    }

    fn only_helps(&self, _: &Update) -> bool {
        false
    }
}
