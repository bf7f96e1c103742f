//! Waiting for a value, in a task of any executor or on a plain thread.

mod aside;
mod block_on;
mod coop;
mod limit;
#[cfg(any(test, feature = "test-util"))]
mod turns;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::{io, thread};

use crate::base::sync::{Mutex, MutexGuard, PoisonError};

pub use aside::{enter, has_told, observe};
pub use aside::{tell, together};
pub use block_on::block_on;
pub use block_on::is_woken_at_once;
pub use coop::{Coop, proceed};
pub use limit::Limit;
#[cfg(any(test, feature = "test-util"))]
pub use turns::{Turn, Turns, pause};

/// Ignores poison: user code never runs while a mutex of the library is locked, so a panic leaves no broken state.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The output of the future that completes first. The other one is dropped.
pub async fn first<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Pending => other.as_mut().poll(cx),
        ready => ready,
    })
    .await
}

/// Wakers and events that wait until no mutex is locked, because they may run any code.
#[derive(Default)]
pub struct DeferredWakes {
    first: Option<Waker>,
    more: Vec<Waker>,
    /// Dropped after the wakes.
    forgotten: Vec<Waker>,
    pub reports: Vec<aside::Job>,
    metrics: Vec<aside::Job>,
}

impl DeferredWakes {
    pub fn add(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        for waker in wakers {
            match self.first {
                None => self.first = Some(waker),
                Some(_) => self.more.push(waker),
            }
        }
    }

    /// Drops the waker once no mutex is locked, because dropping a task's last reference may run any code.
    pub fn forget(&mut self, waker: Option<Waker>) {
        self.forgotten.extend(waker);
    }

    pub fn report(&mut self, report: impl FnOnce() + Send + 'static) {
        self.reports.push(Box::new(report));
    }

    pub fn observe(&mut self, report: impl FnOnce() + Send + 'static) {
        self.metrics.push(Box::new(report));
    }

    #[inline]
    pub fn wake(self) {
        let later = self.forgotten.len() + self.reports.len() + self.metrics.len();
        if self.first.is_none() && later == 0 {
            return std::mem::forget(self);
        }
        self.wake_some();
    }

    fn wake_some(mut self) {
        self.wake_all();
        self.forgotten.drain(..).for_each(aside::forget);
        self.reports.drain(..).for_each(aside::tell_boxed);
        self.metrics.drain(..).for_each(aside::observe);
    }

    fn wake_all(&mut self) {
        if let Some(waker) = self.first.take() {
            aside::wake(waker);
        }
        self.more.reverse();
        while let Some(waker) = self.more.pop() {
            aside::wake(waker);
        }
    }
}

impl Drop for DeferredWakes {
    /// If a waker panics, the others are still called, because their values are ready. Then the first panic resumes.
    fn drop(&mut self) {
        while catch_unwind(AssertUnwindSafe(|| self.wake_all())).is_err() {}
    }
}

#[derive(Debug)]
pub struct Promise<T>(Mutex<State<T>>);

#[derive(Debug)]
enum State<T> {
    Waiting(Option<Waker>),
    Ready(T),
    Taken,
}

impl<T> State<T> {
    fn take(&mut self) -> Option<T> {
        match std::mem::replace(self, Self::Taken) {
            Self::Ready(value) => Some(value),
            Self::Waiting(_) | Self::Taken => None,
        }
    }
}

impl<T> Default for Promise<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Waiting(None)))
    }
}

impl<T> Promise<T> {
    /// Returns `value` as the error if there is one already, or if the receiver no longer waits.
    pub fn complete(&self, value: T, wakes: &mut DeferredWakes) -> Result<(), T> {
        let mut state = lock(&self.0);
        let State::Waiting(waker) = &mut *state else {
            return Err(value);
        };
        wakes.add(waker.take());
        *state = State::Ready(value);
        Ok(())
    }

    /// Stops waiting. Later values are returned to their sender.
    pub fn close(&self, wakes: &mut DeferredWakes) -> Option<T> {
        let state = std::mem::replace(&mut *lock(&self.0), State::Taken);
        match state {
            State::Ready(value) => Some(value),
            State::Waiting(waker) => {
                wakes.forget(waker);
                None
            }
            State::Taken => None,
        }
    }

    pub fn take_if(&self, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        let mut state = lock(&self.0);
        match &*state {
            State::Ready(value) if wanted(value) => state.take(),
            _ => None,
        }
    }

    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<T> {
        aside::wake_gathered();
        // Cloned before the mutex is locked, and the replaced one is dropped after, because dropping a task's last
        // waker may run any code.
        let mut waker = Some(cx.waker().clone());
        let mut state = lock(&self.0);
        match &mut *state {
            State::Waiting(known) => {
                std::mem::swap(known, &mut waker);
                drop(state);
                Poll::Pending
            }
            // A poll after the value was taken is harmless, and returns pending.
            State::Ready(_) | State::Taken => state.take().map_or(Poll::Pending, Poll::Ready),
        }
    }

    /// Cancel safe: if the future is dropped, the value stays for the next call.
    pub async fn wait(&self) -> T {
        let (mut coop, mut left) = (Coop::default(), None);
        poll_fn(|cx| {
            ready!(coop.poll_proceed(cx));
            let polled = self.poll(cx);
            if polled.is_pending() {
                left.get_or_insert_with(|| Left(self));
            }
            polled
        })
        .await
    }

    pub fn blocking_wait(&self) -> T {
        block_on(self.wait())
    }
}

/// Drops the waker of a wait that ends: whoever drops the promise may have locked a mutex.
struct Left<'a, T>(&'a Promise<T>);

impl<T> Drop for Left<'_, T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        let waker = match &mut *state {
            State::Waiting(waker) => waker.take(),
            State::Ready(_) | State::Taken => None,
        };
        drop(state);
        drop(waker);
    }
}

pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(run).map(drop)
}

/// Runs `work` on a new thread, because there may be no runtime. It continues even if the future is dropped. Fails
/// without running `work` if the system refuses a thread.
pub async fn on_thread<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    #[cfg(any(test, feature = "test-util"))]
    let work = match turns::on_thread(work) {
        Ok(running) => return Ok(running.await),
        Err(work) => work,
    };
    let done = Arc::new(Promise::default());
    let signal = done.clone();
    spawn(name, move || {
        let mut wakes = DeferredWakes::default();
        let _ = signal.complete(work(), &mut wakes);
        wakes.wake();
    })?;
    Ok(done.wait().await)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::Wake;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A waker whose drop completes the promise that holds it.
    struct Last(Arc<Promise<u32>>, mpsc::Sender<()>);

    impl Wake for Last {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Last {
        fn drop(&mut self) {
            let _ = self.0.complete(1, &mut DeferredWakes::default());
            let _ = self.1.send(());
        }
    }

    #[test]
    fn a_waker_is_dropped_outside_of_the_lock() {
        let (sender, dropped) = mpsc::channel();
        thread::spawn(move || {
            let promise = Arc::new(Promise::default());
            let waker = Waker::from(Arc::new(Last(promise.clone(), sender)));
            assert!(promise.poll(&mut Context::from_waker(&waker)).is_pending());
            drop(waker);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(promise.poll(&mut cx).is_pending());
            assert_eq!(promise.poll(&mut cx), Poll::Ready(1));
        });
        dropped.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn a_wait_that_is_dropped_leaves_no_waker() {
        let (sender, woken) = mpsc::channel();
        let waker = Arc::new(Tells(sender));
        let promise = Promise::default();
        let mut wait = Box::pin(promise.wait());
        let polled = (wait.as_mut()).poll(&mut Context::from_waker(&waker.clone().into()));
        assert!(polled.is_pending());
        assert!(Arc::strong_count(&waker) > 1);
        drop(wait);
        assert_eq!(Arc::strong_count(&waker), 1);
        promise.complete(7, &mut DeferredWakes::default()).unwrap();
        assert_eq!(block_on(promise.wait()), 7);
        woken.try_recv().unwrap_err();
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as told");
        }
    }

    struct Tells(mpsc::Sender<()>);

    impl Wake for Tells {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    #[test]
    fn a_waker_that_panics_leaves_nobody_asleep() {
        let (sender, woken) = mpsc::channel();
        let mut wakes = DeferredWakes::default();
        wakes.add([(); 2].map(|()| Arc::new(Panics).into()));
        wakes.add([Arc::new(Tells(sender)).into()]);
        let woke = catch_unwind(AssertUnwindSafe(|| wakes.wake()));
        assert!(woke.is_err());
        woken.try_recv().unwrap();
    }
}
