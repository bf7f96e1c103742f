//! [`Names`] and [`Keys`]: batches of a scan of the whole store.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Key, Page, WATCHERS};

use super::Operator;

/// An iterator of batches of names: see [`Operator::names`] and [`Operator::names_in_use`]. It ends after an error.
#[derive(Debug)]
#[must_use = "an iterator asks for nothing before it is used"]
pub struct Names<'a> {
    operator: &'a Operator,
    /// `None` for all keys, as [`Keys`] needs them.
    pattern: Option<String>,
    /// The index and cursor of the server; `None` at the end.
    position: Option<(usize, String)>,
    in_use: bool,
    /// Hashes of the names so far, of which there may be many. A scan may return a name twice, and each server of a
    /// quorum has all of them.
    seen: HashSet<u64>,
    hashes: RandomState,
}

impl<'a> Names<'a> {
    pub(super) fn new(operator: &'a Operator, pattern: Option<String>, in_use: bool) -> Self {
        Self {
            operator,
            pattern,
            position: Some((0, "0".to_owned())),
            in_use,
            seen: HashSet::new(),
            hashes: RandomState::new(),
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
            let found = page.keys.into_iter();
            let wanted = found.filter(|found| !(self.in_use && found.idle));
            let names = wanted.filter_map(|found| found.name);
            // Leaves out the names that clients use for checks when they connect, and those on which the watchers of a
            // leader wait. Names of users never begin with a colon, nor have a bare `%`.
            let is_watched = |name: &str| {
                name.strip_suffix(WATCHERS)
                    .is_some_and(|seat| seat.ends_with(":%"))
            };
            let is_own = |name: &str| name.starts_with(':') || is_watched(name);
            let names = names.filter(|name| !is_own(name));
            let is_new = |name: &String| self.seen.insert(self.hashes.hash_one(name));
            names.filter(is_new).collect()
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
