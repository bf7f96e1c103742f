//! [`Last`]: the hold that was last taken through a handle or its clones.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::lease::WeakBounds;
use crate::queue::{Hold, Holds};
use crate::sync::Mutex;
use crate::wait::lock;

/// The hold that was last taken, with its bounds.
#[derive(Default)]
pub(crate) struct Last(Mutex<(Weak<Hold>, WeakBounds)>);

impl Last {
    /// Remembers `hold`, which is one of `holds`.
    pub(crate) fn remember(&self, hold: &Arc<Hold>, holds: &Holds) {
        *lock(&self.0) = (Arc::downgrade(hold), holds.bounds().downgrade());
    }

    /// The last hold, if it is still valid.
    pub(super) fn holds(&self) -> Option<Holds> {
        let (hold, bounds) = lock(&self.0).clone();
        let hold = hold.upgrade().filter(|hold| hold.is_valid())?;
        Some(Holds::from(hold).within(bounds.upgrade()))
    }
}

impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held: Vec<_> = self.holds().into_iter().collect();
        f.debug_tuple("Last").field(&held).finish()
    }
}
