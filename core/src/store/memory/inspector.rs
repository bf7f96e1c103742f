//! The [`Reader`] of a store in this process.

use std::future::ready;
use std::sync::Arc;

use super::Space;
use crate::base::error::SetupError;
use crate::base::name::Name;
use crate::base::wait::lock;
use crate::store::reader::{Described, Found, Page, Reader, Reading, Snapshot};
use crate::store::{MemberId, Op, Reply, matches};

impl Reader for Arc<Space> {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(ready(Ok(())))
    }

    fn scan<'a>(
        &'a mut self,
        _: usize,
        pattern: Option<&'a str>,
        _: &'a str,
    ) -> Reading<'a, Result<Page, SetupError>> {
        let inner = lock(&self.inner);
        let is_wanted = |name: &&Name| pattern.is_some_and(|it| matches(it, name.as_str()));
        let names = inner.names.keys().filter(is_wanted);
        let found = names.map(|name| Found {
            key: String::new(),
            name: Some(name.clone()),
            never_ends: false,
        });
        let keys = found.collect();
        Box::pin(ready(Ok(Page {
            keys,
            ..Page::default()
        })))
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        let mut inner = lock(&self.inner);
        let (now, nobody) = (self.now(), MemberId::random());
        let states = names.iter().map(|name| {
            let state = inner.names.get_mut(name);
            let reply =
                state.map(|state| state.apply(now, nobody, &Op::Inspect, &mut |_, _| false));
            Ok(reply.map(Reply::into_record).unwrap_or_default())
        });
        let names = states.collect();
        Box::pin(ready(Ok(Snapshot { now, names })))
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(ready(Vec::new()))
    }
}
