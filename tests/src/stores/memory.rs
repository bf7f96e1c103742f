//! The in-process store.

use std::sync::atomic::{AtomicU32, Ordering};

use super::TestStore;

/// A memory store with its own name.
#[derive(Debug)]
pub struct Memory(String);

impl Memory {
    /// A store that no other test uses.
    #[expect(clippy::new_without_default, reason = "each one is another store")]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("memory://suite-{number}"))
    }
}

impl TestStore for Memory {
    fn url(&self) -> String {
        self.0.clone()
    }
}
