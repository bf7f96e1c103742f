//! The engine that `docs/engines.md` walks through.

// It registers itself.
use auto_mutex_example_engine as _;

use super::memory::InProcess;

/// A store of the toy engine.
pub fn toy() -> InProcess {
    InProcess::new("toy")
}
