//! Where a caller runs: in a task of a single-threaded runtime, in another task, or on a thread of its own.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread::{self, ThreadId};

/// The current thread, if this task runs on a single-threaded runtime.
///
/// If that thread blocked for a lock that one of its own tasks holds, it would wait for ever.
pub(crate) fn home() -> Option<ThreadId> {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let handle = Handle::try_current().ok()?;
    (handle.runtime_flavor() == RuntimeFlavor::CurrentThread).then(|| thread::current().id())
}

/// Whether a tokio task runs on this thread. A thread for blocking calls has a runtime handle, but runs no task. So the
/// check uses `yield_now`. If a task runs, `yield_now` leaves its waker to the scheduler. Otherwise it calls the waker
/// at once. The coop budget cannot be used for the check, because a task may be unconstrained.
pub(crate) fn runs_a_task() -> bool {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(woken.clone());
    let yields = pin!(tokio::task::yield_now());
    let _ = yields.poll(&mut Context::from_waker(&waker));
    !woken.0.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_runtime_of_one_thread_is_a_home() {
        use tokio::runtime::Builder;
        assert_eq!(home(), None);
        let here = thread::current().id();
        let one = Builder::new_current_thread().build().unwrap();
        assert_eq!(one.block_on(async { home() }), Some(here));
        let many = Builder::new_multi_thread().worker_threads(1).build();
        assert_eq!(many.unwrap().block_on(async { home() }), None);
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
