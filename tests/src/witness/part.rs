//! The part of a name that a holder has.

use std::fmt;

/// Some of the units of a name, with the token of their grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name, without spaces and slashes.
    pub name: String,
    /// The fencing token.
    pub token: u64,
    /// The units that were granted.
    pub units: u32,
    /// The units of the name.
    pub capacity: u32,
}

impl Part {
    /// The part that the holder of a mutex has.
    pub fn all(name: impl Into<String>, token: u64) -> Self {
        Self::some(name, token, 1, 1)
    }

    /// A part of `units` out of `capacity`.
    pub fn some(name: impl Into<String>, token: u64, units: u32, capacity: u32) -> Self {
        Self {
            name: name.into(),
            token,
            units,
            capacity,
        }
    }

    /// The token with 20 digits, so that tokens compare as text.
    pub(super) fn token_text(&self) -> String {
        format!("{:020}", self.token)
    }

    /// Parses a text that [`Display`](fmt::Display) wrote.
    pub(super) fn parse(text: &str) -> Self {
        let (part, _) = Self::parse_with_rest(text);
        part
    }

    /// As [`parse`](Self::parse), but also returns the text after a further slash.
    pub(super) fn parse_with_rest(text: &str) -> (Self, &str) {
        let mut words = text.splitn(5, '/');
        let mut word = || words.next().unwrap_or_default();
        let name = word();
        let token = word().parse().expect("a token");
        let (units, capacity) = (word().parse(), word().parse());
        let part = Self::some(
            name,
            token,
            units.expect("a number"),
            capacity.expect("a number"),
        );
        (part, word())
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            units,
            capacity,
            ..
        } = self;
        write!(f, "{name}/{}/{units}/{capacity}", self.token_text())
    }
}
