//! The engine of stores in this process: [`MemoryEndpoint`], and its [`Reader`].

use std::future::ready;
use std::sync::Arc;

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{
    Checked, Described, Engine, Key, LIMITS, Layout, MemberId, Name, Page, Reader, Reading, Scheme,
    Snapshot, Source, StoreOptions, Unconnected, decode, invalid, lock, matches, same_kind,
};

use super::{MemoryStore, Space};

inventory::submit! {
    Scheme {
        names: &["memory"],
        parse: |_, name| Ok(Arc::new(MemoryEndpoint::parse(name)?)),
        of_several: None,
    }
}

/// Clients that give the same name in `shared` use one store. `None` is a store for one client.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MemoryEndpoint {
    shared: Option<String>,
}

impl MemoryEndpoint {
    fn parse(name: &str) -> Result<Self, SetupError> {
        if name.contains(['/', '?', '#', '@']) {
            return Err(invalid(
                "`memory://` takes nothing but a name: `memory://my-tests`",
            ));
        }
        let name = decode(name)?;
        Ok(Self {
            shared: (!name.is_empty()).then_some(name),
        })
    }
}

impl Engine for MemoryEndpoint {
    fn scheme(&self) -> &'static str {
        "memory"
    }

    fn layout(&self) -> Layout {
        Layout::InProcess
    }

    fn servers(&self) -> String {
        "memory://".to_owned()
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        self.shared.is_some() && same_kind(other) == Some(self)
    }

    fn asking(&self, _: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        Ok(Arc::new(self.clone()))
    }

    fn check(&self, options: &StoreOptions) -> Checked {
        match options.replicas {
            Some(_) => Err(("replicas", "a store in this process has none")),
            None => Ok(()),
        }
    }

    fn unconnected(&self, _: &StoreOptions, member: MemberId) -> Unconnected {
        let (store, driver) = MemoryStore::open(self.shared.as_deref(), member);
        (store, Box::new(driver))
    }

    fn reader(&self, _: &StoreOptions) -> Box<dyn Reader> {
        // An unnamed store belongs to its client alone, so its reader reads a new, empty one.
        Box::new(MemoryReader(Space::of(self.shared.as_deref())))
    }
}

struct MemoryReader(Arc<Space>);

impl Reader for MemoryReader {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(ready(Ok(())))
    }

    fn scan<'a>(
        &'a mut self,
        _: usize,
        pattern: Option<&'a str>,
        _: &'a str,
    ) -> Reading<'a, Result<Page, SetupError>> {
        let inner = lock(&self.0.inner);
        let is_wanted = |name: &Name| pattern.is_some_and(|it| matches(it, name.as_str()));
        let names = inner.names.iter().filter(|(name, _)| is_wanted(name));
        let keys = names.map(|(name, state)| {
            let mut key = Key::new(String::new(), String::new(), Some(name));
            key.idle = state.is_idle();
            key
        });
        let keys = keys.collect();
        Box::pin(ready(Ok(Page { keys, next: None })))
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        let inner = lock(&self.0.inner);
        let now = self.0.now();
        let states = names.iter().map(|name| {
            let state = inner.names.get(name);
            Ok(state
                .map(|state| state.inspect(now, 0, &LIMITS))
                .unwrap_or_default())
        });
        let names = states.collect();
        Box::pin(ready(Ok(Snapshot { now, names })))
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(ready(Vec::new()))
    }
}
