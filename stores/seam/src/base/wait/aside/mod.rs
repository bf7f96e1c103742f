//! Runs user code that may block or panic outside the background threads: wakers, events for subscribers, and metrics
//! for observers. Most wakers are [`known`] not to block, and are called directly.

mod gathered;
mod known;
mod lane;

use std::cell::{Cell, RefCell};
use std::task::Waker;

use tokio::runtime::Runtime;

pub use self::gathered::together;
pub(super) use self::gathered::wake_gathered;
use self::known::is_known;
pub(super) use self::known::is_of_tokio;
pub(super) use self::lane::Job;
use self::lane::Lane;

const EVENTS: usize = 1024;

struct Aside {
    wakers: Lane,
    events: Lane,
    /// Unlimited, because a gauge that misses a change would stay wrong.
    metrics: Lane,
}

thread_local! {
    /// Read in every transition. Reading a value without a destructor is faster.
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
    static ASIDE: RefCell<Option<Aside>> = const { RefCell::new(None) };
}

#[must_use]
pub struct Entered(std::marker::PhantomData<*const ()>);

/// `runtime` belongs to this background thread, and is not running yet.
pub fn enter(runtime: &Runtime) -> Entered {
    known::learn(runtime);
    ASIDE.set(Some(Aside {
        wakers: Lane::new("auto-mutex-wakes", usize::MAX),
        events: Lane::new("auto-mutex-tells", EVENTS),
        metrics: Lane::new("auto-mutex-metrics", usize::MAX),
    }));
    IS_BACKGROUND.set(true);
    Entered(std::marker::PhantomData)
}

impl Drop for Entered {
    fn drop(&mut self) {
        IS_BACKGROUND.set(false);
        drop(ASIDE.take());
    }
}

fn with<T>(run: impl FnOnce(&Aside) -> T) -> Option<T> {
    ASIDE.with_borrow(|aside| aside.as_ref().map(run))
}

#[inline]
pub(super) fn wake(waker: Waker) {
    if let Some(waker) = gathered::gather(waker) {
        use_up(waker, Waker::wake);
    }
}

/// Dropping a task's last reference may run any code.
pub(super) fn forget(waker: Waker) {
    use_up(waker, drop);
}

#[inline]
fn use_up(waker: Waker, action: impl FnOnce(Waker) + Send + 'static) {
    match IS_BACKGROUND.get() && !is_known(&waker) {
        true => run(Box::new(|| action(waker)), |aside| &aside.wakers),
        false => action(waker),
    }
}

/// Logs an event: directly, or from another thread if this is a client's background thread, which must not wait for a
/// subscriber.
pub fn tell(event: impl FnOnce() + Send + 'static) {
    tell_boxed(Box::new(event));
}

pub(super) fn tell_boxed(event: Job) {
    run(event, |aside| &aside.events);
}

pub fn observe(report: Job) {
    run(report, |aside| &aside.metrics);
}

fn run(job: Job, lane: impl FnOnce(&Aside) -> &Lane) {
    match IS_BACKGROUND.get() {
        true => drop(with(|aside| lane(aside).push(job))),
        false => job(),
    }
}

pub fn has_told() -> bool {
    with(|aside| aside.events.is_idle()).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::Wake;
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::*;
    use crate::base::wait::DeferredWakes;

    /// Reports the threads on which it is woken and dropped.
    struct Foreign(mpsc::Sender<ThreadId>);

    impl Wake for Foreign {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(thread::current().id());
        }
    }

    impl Drop for Foreign {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().id());
        }
    }

    fn runtime() -> Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.build().unwrap()
    }

    #[test]
    fn an_engine_leaves_to_others_what_others_may_do_and_nobody_else_does() {
        let here = thread::current().id();
        for engine in [true, false] {
            let runtime = runtime();
            let entered = engine.then(|| enter(&runtime));
            let (sender, done) = mpsc::channel();
            let mut wakes = DeferredWakes::default();
            wakes.add([Waker::from(Arc::new(Foreign(sender.clone())))]);
            wakes.forget(Some(Waker::from(Arc::new(Foreign(sender.clone())))));
            let told = sender.clone();
            wakes.report(move || {
                let _ = told.send(thread::current().id());
            });
            wakes.wake();
            tell(move || {
                let _ = sender.send(thread::current().id());
            });
            // One wake, two drops and two events. The iterator ends because all senders are dropped.
            let where_: Vec<_> = done.iter().collect();
            assert_eq!(where_.len(), 5);
            assert!(where_.iter().all(|it| (*it == here) != engine), "{engine}");
            drop(entered);
        }
    }

    #[test]
    fn what_blocks_is_nothing_to_the_engine_and_all_that_is_behind_it_is_done() {
        let runtime = runtime();
        let entered = enter(&runtime);
        let (go_on, blocks) = mpsc::channel::<()>();
        let (sender, told) = mpsc::channel();
        tell(move || {
            let _ = blocks.recv();
        });
        for number in 0..EVENTS * 2 {
            let sender = sender.clone();
            tell(move || {
                let _ = sender.send(number);
            });
        }
        assert!(!has_told());
        drop(sender);
        drop(entered);
        go_on.send(()).unwrap();
        let told: Vec<_> = told.iter().collect();
        assert!(
            (EVENTS - 1..=EVENTS).contains(&told.len()),
            "{}",
            told.len()
        );
        assert!(told.is_sorted());
    }

    #[test]
    fn a_panic_ends_nothing() {
        let runtime = runtime();
        let _entered = enter(&runtime);
        tell(|| panic!("as told"));
        let (sender, told) = mpsc::channel();
        tell(move || {
            let _ = sender.send(());
        });
        told.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    /// Panics when called, and when dropped.
    struct Panics(mpsc::Sender<ThreadId>);

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            self.wake_by_ref();
        }

        fn wake_by_ref(self: &Arc<Self>) {
            let _ = self.0.send(thread::current().id());
            panic!("as told");
        }
    }

    impl Drop for Panics {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().id());
            if !thread::panicking() {
                panic!("as told");
            }
        }
    }

    #[test]
    fn users_code_that_panics_on_an_engine_without_other_threads_ends_nothing() {
        let runtime = runtime();
        let _entered = enter(&runtime);
        lane::NO_THREADS.set(true);
        let (sender, called) = mpsc::channel();
        let mut wakes = DeferredWakes::default();
        wakes.add([(); 2].map(|()| Waker::from(Arc::new(Panics(sender.clone())))));
        wakes.forget(Some(Waker::from(Arc::new(Panics(sender)))));
        wakes.report(|| panic!("as told"));
        wakes.observe(|| panic!("as told"));
        wakes.wake();
        tell(|| panic!("as told"));
        lane::NO_THREADS.set(false);
        // Two wakes and three drops.
        let here = thread::current().id();
        assert_eq!(called.iter().collect::<Vec<_>>(), [here; 5]);
    }
}
