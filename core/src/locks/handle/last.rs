//! [`Last`]: the name of a handle, and the last hold taken through the handle or its clones.

use std::sync::{Arc, Weak};

use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::lease::{Bounds, Limits};
use crate::queue::{Hold, Holds};

#[derive(Debug)]
pub(crate) struct Last {
    name: Box<str>,
    hold: Mutex<(Weak<Hold>, Weak<Limits>)>,
}

impl Last {
    pub(super) fn of(name: String) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            hold: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Remembers `hold`, which is one of `holds`.
    pub(crate) fn remember(&self, hold: &Arc<Hold>, holds: &Holds) {
        *lock(&self.hold) = (Arc::downgrade(hold), holds.bounds().downgrade());
    }

    /// A released hold is of no use to the handle, and its memory can serve the next one.
    pub(super) fn forget(&self, hold: &Arc<Hold>) {
        let mut last = lock(&self.hold);
        if hold.is_released() && last.0.as_ptr() == Arc::as_ptr(hold) {
            *last = Default::default();
        }
    }

    pub(super) fn holds(&self) -> Option<Holds> {
        let (hold, bounds) = lock(&self.hold).clone();
        let hold = hold.upgrade().filter(|hold| hold.is_valid())?;
        Some(Holds::from(hold).within(Bounds::upgrade(&bounds)))
    }
}
