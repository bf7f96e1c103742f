//! The task or thread that runs here. This folder knows nothing of locks.

mod home;
mod workers;

use std::thread::{self, ThreadId};

pub(crate) use self::home::{Home, runs_a_task};
pub(crate) use self::workers::{BlockedWorker, all_blocked};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TaskId {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl TaskId {
    /// Outside of tokio tasks, the thread if the caller blocks it; otherwise `None`, because any number of tasks of
    /// another executor may share it.
    #[inline]
    pub(crate) fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}
