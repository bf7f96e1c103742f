//! [`Caller`]: who takes a lock, as far as that can be known.

use std::thread::{self, ThreadId};

/// A task of tokio, or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Caller {
    /// `blocking`: the caller blocks its thread, so it is that thread if it is no task.
    #[inline]
    pub(crate) fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}
