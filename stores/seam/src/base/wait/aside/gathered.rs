//! Wakes several tasks together. Waking a task from outside of its runtime costs a system call, and often a switch of
//! threads; from inside it costs nothing. So the first task that runs wakes the others.

use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread;

use super::known::is_of_tokio;
use crate::base::process::PerProcess;

thread_local! {
    static GATHERS: Cell<bool> = const { Cell::new(false) };
    static OWN: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// A forked child must not wake its parent's tasks.
static GATHERED: PerProcess<Mutex<Vec<Waker>>> = PerProcess::new(Mutex::default);
static ARE_SOME: AtomicBool = AtomicBool::new(false);

/// Runs `run` on a background thread. Tokio's tasks that it wakes are woken when it returns.
pub fn together<T>(run: impl FnOnce() -> T) -> T {
    struct Release;
    impl Drop for Release {
        fn drop(&mut self) {
            GATHERS.set(false);
            release();
        }
    }
    GATHERS.set(true);
    let _release = Release;
    run()
}

/// Returns the waker if it must be called now.
#[inline]
pub(super) fn gather(waker: Waker) -> Option<Waker> {
    if !GATHERS.get() || !is_of_tokio(&waker) {
        return Some(waker);
    }
    OWN.with_borrow_mut(|own| own.push(waker));
    None
}

fn release() {
    let mut all = OWN.take();
    let are_several = all.len() > 1;
    if are_several {
        GATHERED.lock().extend(all.drain(1..));
        ARE_SOME.store(true, Ordering::Relaxed);
    }
    all.drain(..).for_each(Waker::wake);
    OWN.set(all);
    if are_several {
        // On the same processor, the first task runs now.
        thread::yield_now();
        wake_all();
    }
}

/// Called whenever a task of the library's user is polled.
#[inline]
pub(crate) fn wake_gathered() {
    if ARE_SOME.load(Ordering::Relaxed) {
        wake_all();
    }
}

#[cold]
fn wake_all() {
    ARE_SOME.store(false, Ordering::Relaxed);
    let all = std::mem::take(&mut *GATHERED.lock());
    all.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use tokio::runtime::Builder;
    use tokio::time::timeout;

    use super::super::known;
    use super::*;
    use crate::base::wait::{DeferredWakes, Promise};

    fn complete(promise: &Promise<usize>, value: usize) {
        let mut wakes = DeferredWakes::default();
        promise.complete(value, &mut wakes).unwrap();
        wakes.wake();
    }

    /// Even if the first one never runs, and some belong to another runtime.
    #[test]
    fn all_tasks_that_are_woken_together_run() {
        const TASKS: usize = 40;
        let runtimes =
            [(); 2].map(|()| Builder::new_current_thread().enable_time().build().unwrap());
        known::learn(&Builder::new_current_thread().build().unwrap());
        let promises: Vec<_> = (0..TASKS).map(|_| Arc::new(Promise::default())).collect();
        let mut tasks: Vec<_> = promises
            .iter()
            .enumerate()
            .map(|(index, promise)| {
                let promise = promise.clone();
                runtimes[index % 2].spawn(async move { promise.wait().await })
            })
            .collect();
        for runtime in &runtimes {
            // Now all tasks are polled.
            runtime.block_on(tokio::task::yield_now());
        }
        tasks.remove(0).abort();
        together(|| {
            for (index, promise) in promises.iter().enumerate() {
                complete(promise, index);
            }
            assert_eq!(OWN.with_borrow(Vec::len), TASKS);
        });
        for (index, task) in tasks.into_iter().enumerate() {
            let index = index + 1;
            let value = runtimes[index % 2]
                .block_on(async { timeout(Duration::from_secs(60), task).await });
            assert_eq!(value.unwrap().unwrap(), index);
        }
    }

    struct Tells(mpsc::Sender<()>);

    impl std::task::Wake for Tells {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    #[test]
    fn other_wakers_are_called_at_once() {
        let (sender, woken) = mpsc::channel();
        together(|| {
            assert!(gather(Arc::new(Tells(sender)).into()).is_some_and(|waker| {
                waker.wake();
                woken.try_recv().is_ok()
            }));
        });
    }
}
