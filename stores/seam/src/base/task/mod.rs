//! The current task or thread. This folder knows nothing about locks.

mod workers;

use std::thread::{self, ThreadId};

use tokio::runtime::{Handle, Id, RuntimeFlavor};

pub use self::workers::{BlockedWorker, all_blocked};
use crate::base::wait::is_woken_at_once;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskId {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl TaskId {
    /// Outside tokio tasks, this is the thread if the caller blocks it. Otherwise `None`, because many tasks of another
    /// executor may share the thread.
    #[inline]
    pub fn current(blocking: bool) -> Option<Self> {
        let task = tokio::task::try_id().map(Self::Task);
        task.or_else(|| blocking.then(|| Self::Thread(thread::current().id())))
    }
}

/// Where a caller runs. While calls for locks block all of it, no caller there can release a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The thread of a single-threaded runtime.
    Thread(ThreadId),
    /// The workers of a multi-threaded runtime.
    Workers(Id),
}

impl Home {
    /// With `blocking`, the call blocks its thread, so the worker on which it runs counts as its home.
    #[inline]
    pub fn current(blocking: bool) -> Option<Self> {
        let handle = Handle::try_current().ok()?;
        match handle.runtime_flavor() {
            RuntimeFlavor::CurrentThread => Some(Self::Thread(thread::current().id())),
            // The future of a `block_on` has its own thread, and no id.
            _ if !blocking && tokio::task::try_id().is_some() => Some(Self::Workers(handle.id())),
            _ => None,
        }
    }
}

/// A thread for blocking calls has a runtime handle as well, but there `yield_now` calls its waker immediately. (The
/// coop budget cannot tell: unconstrained tasks have none.)
pub fn runs_a_task() -> bool {
    !is_woken_at_once(tokio::task::yield_now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_needs_the_thread_or_a_worker_of_its_runtime() {
        use tokio::runtime::Builder;
        let home = || Home::current(false);
        assert_eq!(home(), None);
        let here = Home::Thread(thread::current().id());
        let one = Builder::new_current_thread().build().unwrap();
        assert_eq!(one.block_on(async { home() }), Some(here));
        let many = Builder::new_multi_thread().worker_threads(1).build();
        let many = many.unwrap();
        assert_eq!(many.block_on(async { home() }), None);
        let task = many.spawn(async move { (home(), Home::current(true)) });
        let workers = Home::Workers(many.handle().id());
        assert_eq!(many.block_on(task).unwrap(), (Some(workers), None));
    }

    #[test]
    fn a_thread_for_blocking_calls_runs_no_task() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert!(!runs_a_task());
        runtime.block_on(async {
            assert!(runs_a_task());
            assert!(tokio::task::coop::has_budget_remaining());
            assert!(tokio::spawn(async { runs_a_task() }).await.unwrap());
            assert!(!tokio::task::spawn_blocking(runs_a_task).await.unwrap());
            let unconstrained = tokio::task::unconstrained(async { runs_a_task() });
            assert!(unconstrained.await);
        });
        let _entered = runtime.enter();
        assert!(!runs_a_task());
    }
}
