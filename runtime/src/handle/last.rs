//! [`Last`]: the holds that were taken through a handle or its clones, each with the task that took it.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::lease::WeakBounds;
use crate::member::Caller;
use crate::queue::{Hold, Holds};
use crate::sync::Mutex;
use crate::wait::lock;

/// The holds that were taken and may still be valid, each with the task that took it.
#[derive(Default)]
pub(crate) struct Last(Mutex<Obtained>);

#[derive(Default)]
struct Obtained {
    newest: Entry,
    /// Earlier holds that may still be valid, for example of readers and of permits. The oldest is first.
    before: Vec<Entry>,
}

#[derive(Clone, Default)]
struct Entry {
    hold: Weak<Hold>,
    bounds: WeakBounds,
    by: Option<Caller>,
}

impl Entry {
    fn hold(&self) -> Option<Arc<Hold>> {
        self.hold.upgrade().filter(|hold| hold.is_valid())
    }
}

impl Last {
    /// Remembers `hold`, which is one of `holds`.
    pub(super) fn remember(&self, hold: &Arc<Hold>, holds: &Holds, blocking: bool) {
        let by = Caller::current(blocking);
        if let Some(caller) = by {
            hold.taken_by(caller);
        }
        let newest = Entry {
            hold: Arc::downgrade(hold),
            bounds: holds.bounds().downgrade(),
            by,
        };
        let mut obtained = lock(&self.0);
        let replaced = std::mem::replace(&mut obtained.newest, newest);
        if replaced.hold().is_none() {
            return;
        }
        let before = &mut obtained.before;
        if before.len() == before.capacity() {
            before.retain(|entry| entry.hold().is_some());
        }
        before.push(replaced);
    }

    /// The last hold, if it is still valid.
    pub(super) fn holds(&self) -> Option<Holds> {
        let newest = lock(&self.0).newest.clone();
        Some(Holds::from(newest.hold()?).within(newest.bounds.upgrade()))
    }

    /// The last valid hold that the current task took, preferably one for which `enough` is true.
    pub(super) fn of_caller(
        &self,
        blocking: bool,
        enough: impl Fn(&Hold) -> bool,
    ) -> Option<Arc<Hold>> {
        let caller = Some(Caller::current(blocking)?);
        let obtained = lock(&self.0);
        let entries = std::iter::once(&obtained.newest).chain(obtained.before.iter().rev());
        let mut own = entries
            .filter(|entry| entry.by == caller)
            .filter_map(Entry::hold);
        let newest = own.next()?;
        if enough(&newest) {
            return Some(newest);
        }
        Some(own.find(|hold| enough(hold)).unwrap_or(newest))
    }
}

impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held: Vec<_> = self.holds().into_iter().collect();
        f.debug_tuple("Last").field(&held).finish()
    }
}
