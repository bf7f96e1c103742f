//! The engine of stores in this process: [`MemoryEndpoint`].

use std::sync::Arc;

use super::{MemoryStore, Space};
use crate::base::error::SetupError;
use crate::store::credentials::Source;
use crate::store::engine::{Checked, Engine, Layout, Scheme, decode, invalid, same_kind};
use crate::store::{MemberId, Options, Reader, Unconnected};

inventory::submit! {
    Scheme { names: &["memory"], parse: |_, name| Ok(Arc::new(MemoryEndpoint::parse(name)?)) }
}

/// All clients with the same name in `shared` use one store; `None`: a store of one client.
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

    fn check(&self, options: &Options) -> Checked {
        match options.replicas {
            Some(_) => Err(("replicas", "a store in this process has none")),
            None => Ok(()),
        }
    }

    fn unconnected(&self, _: &Options, member: MemberId) -> Unconnected {
        let (store, driver) = MemoryStore::open(self.shared.as_deref(), member);
        (store, Box::new(driver))
    }

    fn reader(&self, _: &Options) -> Box<dyn Reader> {
        // Only its client can access an unnamed store, so the reader of one reads a new, empty store.
        Box::new(Space::of(self.shared.as_deref()))
    }
}
