//! The name of a wake queue: see `wake.rs`.

use auto_mutex_core::store::Name;

const SUFFIX: &str = "wake";

pub(super) fn wake_queue(name: &Name) -> Name {
    name.beside(SUFFIX)
}

/// Whether `name` is the name of a [`wake_queue`]. Names of users never end in this way.
pub(crate) fn is_wake_queue(name: &Name) -> bool {
    name.before(SUFFIX).is_some()
}
