//! [`Last`]: what was last obtained through a handle or its clones, and by whom.

use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, ThreadId};

use crate::lease::Hold;
use crate::wait::lock;

/// What was last obtained, and by whom.
#[derive(Debug, Default)]
pub(super) struct Last(Mutex<(Weak<Hold>, Option<Identity>)>);

/// Who takes a lock by hand, as far as that can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Identity {
    fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}

impl Last {
    pub(super) fn remember(&self, hold: &Arc<Hold>, blocking: bool) {
        *lock(&self.0) = (Arc::downgrade(hold), Identity::current(blocking));
    }

    /// What was last obtained, if it still holds.
    pub(super) fn hold(&self) -> Option<Arc<Hold>> {
        let last = lock(&self.0).0.upgrade();
        last.filter(|hold| hold.is_valid())
    }

    /// What the caller obtained, if it was the last to do so and still holds.
    pub(super) fn of_caller(&self, blocking: bool) -> Option<Arc<Hold>> {
        let caller = Identity::current(blocking)?;
        let (last, by) = lock(&self.0).clone();
        last.upgrade()
            .filter(|hold| by == Some(caller) && hold.is_valid())
    }
}
