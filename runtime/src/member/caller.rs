//! [`Caller`]: the task or thread that takes a lock, if it can be known.

use std::thread::{self, ThreadId};

/// A task of tokio, or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Caller {
    /// `blocking`: the caller blocks its thread. If the caller is no task, it is identified by that thread.
    #[inline]
    pub(crate) fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}
