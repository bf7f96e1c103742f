//! [`Names`] and [`Keys`]: batches of a scan of the whole store.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Key, Page};

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
    pub(super) fn new(operator: &'a Operator, pattern: Option<String>) -> Self {
        Self {
            operator,
            pattern,
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
            names.filter(|name| !name.starts_with(':')).collect()
        }))
    }
}

/// An iterator of batches of keys: see [`Operator::keys`]. It ends after an error.
#[derive(Debug)]
#[must_use = "an iterator asks for nothing before it is used"]
pub struct Keys<'a>(pub(super) Names<'a>);

impl Iterator for Keys<'_> {
    type Item = Result<Vec<Key>, SetupError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.page()?.map(|page| page.keys))
    }
}
