//! [`Names`] and [`Keys`]: batches of a scan of the whole store.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::Page;

use super::Operator;

/// An iterator of batches of names: see [`Operator::names`]. It ends after an error.
#[derive(Debug)]
#[must_use = "an iterator asks for nothing before it is used"]
pub struct Names<'a> {
    operator: &'a Operator,
    /// `None`: all keys, for [`Keys`].
    pattern: Option<String>,
    /// The index of the server, and its cursor; `None` at the end.
    position: Option<(usize, String)>,
}

impl<'a> Names<'a> {
    pub(super) fn new(operator: &'a Operator, pattern: Option<&str>) -> Self {
        Self {
            operator,
            pattern: pattern.map(str::to_owned),
            position: Some((0, "0".to_owned())),
        }
    }

    fn page(&mut self) -> Option<Result<Page, SetupError>> {
        let (server, cursor) = self.position.take()?;
        let pattern = self.pattern.clone();
        let page = self.operator.run(async move |reader| {
            let page = reader.scan(server, pattern.as_deref(), &cursor).await?;
            Ok((page, reader.servers()))
        });
        Some(page.map(|(mut page, servers)| {
            let next = page.next.take().map(|cursor| (server, cursor));
            let first = || (server + 1 < servers).then(|| (server + 1, "0".to_owned()));
            self.position = next.or_else(first);
            page
        }))
    }
}

impl Iterator for Names<'_> {
    type Item = Result<Vec<String>, SetupError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.page()?.map(|page| {
            let names = page.keys.into_iter().filter_map(|found| found.name);
            // Leaves out the names that clients probe when they connect. No name of a user begins with a colon.
            let names = names.filter(|name| !name.as_str().starts_with(':'));
            names.map(|name| name.to_string()).collect()
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
pub struct Keys<'a>(pub(super) Names<'a>);

impl Iterator for Keys<'_> {
    type Item = Result<Vec<Key>, SetupError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.page()?.map(|Page { server, keys, .. }| {
            let keys = keys.into_iter().map(|found| Key {
                server: server.clone(),
                key: found.key,
                name: found.name.map(|name| name.to_string()),
                never_ends: found.never_ends,
            });
            keys.collect()
        }))
    }
}
