//! [`TaskId`]: the identity of a task or thread.

use std::thread::{self, ThreadId};

/// A task of tokio, or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TaskId {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl TaskId {
    /// The current task. Outside of tokio tasks, the current thread if the caller blocks it (`blocking`); otherwise
    /// `None`, because any number of tasks of another executor may share the thread.
    #[inline]
    pub(crate) fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}
