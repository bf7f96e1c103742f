use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, RawWakerVTable, Wake, Waker};

use super::lock;
use crate::base::sync::{Condvar, Mutex, PoisonError};

/// `thread::park` would use the thread's park token, which belongs to the caller's code.
#[derive(Default)]
struct Sleeper {
    woken: Mutex<bool>,
    changed: Condvar,
    #[cfg(any(test, feature = "test-util"))]
    task: Option<super::turns::Task>,
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *lock(&self.woken) = true;
        self.changed.notify_one();
        #[cfg(any(test, feature = "test-util"))]
        if let Some(task) = &self.task {
            task.lock().expect("unpoisoned").wake_by_ref();
        }
    }
}

impl Sleeper {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            #[cfg(any(test, feature = "test-util"))]
            task: super::turns::task(),
            ..Self::default()
        })
    }

    fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    fn sleep(&self) {
        #[cfg(any(test, feature = "test-util"))]
        if self.task.is_some() {
            while !std::mem::take(&mut *lock(&self.woken)) {
                super::turns::sleep();
            }
            return;
        }
        #[cfg(any(test, feature = "test-util"))]
        super::turns::check(|| *lock(&self.woken));
        let mut woken = lock(&self.woken);
        while !*woken {
            let waiting = self.changed.wait(woken);
            woken = waiting.unwrap_or_else(PoisonError::into_inner);
        }
        *woken = false;
    }
}

pub(super) fn functions() -> &'static RawWakerVTable {
    // Use the vtable of a clone, because futures keep clones, which may have another vtable.
    Arc::new(Sleeper::default()).waker().clone().vtable()
}

/// Whether the first poll of `future` wakes its task.
pub fn is_woken_at_once(future: impl Future) -> bool {
    let sleeper = Arc::new(Sleeper::default());
    let _ = pin!(future).poll(&mut Context::from_waker(&sleeper.waker()));
    *lock(&sleeper.woken)
}

/// For futures that need no runtime, such as those of handles.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    // Polled first with a no-op waker, because the future is often ready.
    let mut cx = Context::from_waker(Waker::noop());
    if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
        return output;
    }
    let sleeper = Sleeper::new();
    let waker = sleeper.waker();
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => sleeper.sleep(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::base::wait::{DeferredWakes, Promise};

    #[test]
    fn a_value_of_another_thread_arrives() {
        let promise = Arc::new(Promise::default());
        let other = promise.clone();
        let sender = thread::spawn(move || {
            let mut wakes = DeferredWakes::default();
            other.complete(7, &mut wakes).unwrap();
            wakes.wake();
        });
        assert_eq!(block_on(promise.wait()), 7);
        sender.join().unwrap();
    }
}
