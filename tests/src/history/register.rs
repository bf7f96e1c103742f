//! The specification of a fenced register.

use super::Specification;

/// A register that refuses a token older than one that it has seen.
#[derive(Clone, Copy, Debug)]
pub struct Register;

/// A read of the register, and perhaps a write, with one token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// The fencing token.
    pub token: u64,
    /// The value that was read.
    pub read: String,
    /// The value that was written, if there was a write.
    pub wrote: Option<String>,
}

/// The value of the register, and the last token.
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
