//! [`Names`] and [`Keys`]: batches of a scan of the whole store.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::Position;

use super::Operator;

/// An iterator of batches of names: see [`Operator::names`]. It ends after an error.
#[derive(Debug)]
#[must_use = "an iterator asks for nothing before it is used"]
pub struct Names<'a> {
    operator: &'a Operator,
    pattern: String,
    position: Option<Position>,
}

impl<'a> Names<'a> {
    pub(super) fn new(operator: &'a Operator, pattern: &str) -> Self {
        Self {
            operator,
            pattern: pattern.to_owned(),
            position: Some(Position::start()),
        }
    }
}

impl Iterator for Names<'_> {
    type Item = Result<Vec<String>, SetupError>;

    fn next(&mut self) -> Option<Self::Item> {
        let position = self.position.take()?;
        let pattern = self.pattern.clone();
        let page = self
            .operator
            .worker
            .run(async move |reader| reader.names(&pattern, &position).await);
        Some(page.flatten().map(|(names, next)| {
            self.position = next;
            // Leaves out the names that clients probe when they connect. No name of a user begins with a colon.
            let names = names.iter().filter(|name| !name.as_str().starts_with(':'));
            names.map(ToString::to_string).collect()
        }))
    }
}

/// A key with the prefix of this library, on one server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The server, without credentials.
    pub server: String,
    /// The whole key.
    pub key: String,
    /// The name of the lock whose state the key contains; `None` for other keys.
    pub name: Option<String>,
    /// Whether the key never expires. All keys of the library expire.
    pub never_ends: bool,
}

/// An iterator of batches of keys: see [`Operator::keys`]. It ends after an error.
#[derive(Debug)]
#[must_use = "an iterator asks for nothing before it is used"]
pub struct Keys<'a> {
    operator: &'a Operator,
    position: Option<Position>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(operator: &'a Operator) -> Self {
        Self {
            operator,
            position: Some(Position::start()),
        }
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<Vec<Key>, SetupError>;

    fn next(&mut self) -> Option<Self::Item> {
        let position = self.position.take()?;
        let page = self
            .operator
            .worker
            .run(async move |reader| reader.keys(&position).await);
        Some(page.flatten().map(|(keys, next)| {
            self.position = next;
            let keys = keys.into_iter().map(|(server, found)| Key {
                server,
                key: found.key,
                name: found.name.map(|name| name.to_string()),
                never_ends: found.never,
            });
            keys.collect()
        }))
    }
}
