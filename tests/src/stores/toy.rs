//! The engine that `docs/engines.md` walks through.

use std::sync::atomic::{AtomicU32, Ordering};

// It registers itself.
use auto_mutex_example_engine as _;

use super::TestStore;

/// A store of the toy engine with its own name.
#[derive(Debug)]
pub struct Toy(String);

impl Toy {
    /// A store that no other test uses.
    #[expect(clippy::new_without_default, reason = "each one is another store")]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("toy://suite-{number}"))
    }
}

impl TestStore for Toy {
    fn url(&self) -> String {
        self.0.clone()
    }
}
