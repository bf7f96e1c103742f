//! [`Caller`]: the task or thread that takes a lock, if it can be known.

use std::thread::{self, ThreadId};

/// A task of tokio, or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Caller {
    /// The current task. Outside of tasks, the current thread if the caller blocks it (`blocking`); otherwise `None`.
    #[inline]
    pub(crate) fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}
