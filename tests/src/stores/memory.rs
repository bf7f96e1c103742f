//! Stores inside the process: the memory store, and the engine that `docs/engines.md` walks through.

use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::Config;
// It registers itself.
use auto_mutex_example_engine as _;

use super::{TestStore, config};

/// A store that no other test uses.
#[derive(Debug)]
pub struct InProcess(String);

impl InProcess {
    fn new(scheme: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{scheme}://suite-{number}"))
    }
}

/// A memory store.
pub fn memory() -> InProcess {
    InProcess::new("memory")
}

/// A store of the toy engine.
pub fn toy() -> InProcess {
    InProcess::new("toy")
}

impl TestStore for InProcess {
    fn config(&self) -> Config {
        config(self.0.clone())
    }
}
