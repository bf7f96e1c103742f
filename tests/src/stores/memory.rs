//! Stores inside the process.

use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::Config;

use super::{TestStore, config};

/// A store that no other test uses.
#[derive(Debug)]
pub struct InProcess(String);

impl InProcess {
    pub(super) fn new(scheme: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{scheme}://suite-{number}"))
    }
}

/// A memory store.
pub fn memory() -> InProcess {
    InProcess::new("memory")
}

impl TestStore for InProcess {
    fn config(&self) -> Config {
        config(self.0.clone())
    }
}
