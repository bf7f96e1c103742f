//! [`Turn`]: blocking code of a test in virtual time, on a thread that takes turns with the tasks of a runtime. One of
//! the two runs at a time, so the order is the test's, and time stands still meanwhile.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;

use super::{block_on, spawn};

thread_local! {
    static SEAT: RefCell<Option<Arc<Seat>>> = const { RefCell::new(None) };
    static TURNS: RefCell<Option<Turns>> = const { RefCell::new(None) };
}

/// The runtime whose tasks the threads take turns with, and what each thread calls when it begins.
#[derive(Clone)]
pub(crate) struct Turns {
    pub(crate) runtime: Handle,
    pub(crate) begin: Arc<dyn Fn() + Send + Sync>,
}

impl Turns {
    /// Lets the code of this thread start its threads as [`Turn`]s.
    pub(crate) fn install(self) {
        TURNS.set(Some(self));
    }

    fn here() -> Option<Self> {
        TURNS
            .try_with(|turns| turns.borrow().clone())
            .ok()
            .flatten()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Whose {
    Tasks,
    Thread,
    /// The thread has ended.
    Nobody,
    /// The thread must end, because its process was killed.
    Killed,
}

/// Whose turn it is.
pub(super) struct Seat {
    turn: Mutex<Whose>,
    changed: Condvar,
    task: Mutex<Option<Waker>>,
}

/// The payload of the panic that ends a killed thread.
struct KilledThread;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seat {
    /// The seat of this thread, if it takes turns.
    pub(super) fn here() -> Option<Arc<Self>> {
        SEAT.try_with(|seat| seat.borrow().clone()).ok().flatten()
    }

    fn set(&self, whose: Whose) {
        *lock(&self.turn) = whose;
        self.changed.notify_all();
    }

    fn wait(&self, done: impl Fn(Whose) -> bool) -> Whose {
        let mut turn = lock(&self.turn);
        while !done(*turn) {
            let waiting = self.changed.wait(turn);
            turn = waiting.unwrap_or_else(PoisonError::into_inner);
        }
        *turn
    }

    /// Lets the tasks run until the thread is woken.
    pub(super) fn sleep(&self) {
        if *lock(&self.turn) != Whose::Killed {
            self.set(Whose::Tasks);
        }
        if self.wait(|whose| whose != Whose::Tasks) == Whose::Killed && !thread::panicking() {
            resume_unwind(Box::new(KilledThread));
        }
    }

    pub(super) fn wake(&self) {
        let task = lock(&self.task).clone();
        task.into_iter().for_each(Waker::wake);
    }
}

type Ended<T> = Result<T, Box<dyn Any + Send>>;

/// The future of a thread's work. Each poll is a turn of the thread.
pub(crate) struct Turn<T> {
    seat: Arc<Seat>,
    output: Arc<Mutex<Option<Ended<T>>>>,
}

impl<T: Send + 'static> Turn<T> {
    /// # Panics
    ///
    /// On a thread without [`Turns`].
    pub(crate) fn new(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let turns = Turns::here().expect("a thread of a World");
        let turn = Self {
            seat: Arc::new(Seat {
                turn: Mutex::new(Whose::Tasks),
                changed: Condvar::new(),
                task: Mutex::default(),
            }),
            output: Arc::default(),
        };
        let (seat, output) = (turn.seat.clone(), turn.output.clone());
        let run = move || {
            if seat.wait(|whose| whose != Whose::Tasks) == Whose::Thread {
                (turns.begin)();
                turns.install();
                SEAT.set(Some(seat.clone()));
                let ended = catch_unwind(AssertUnwindSafe(work));
                *lock(&output) = Some(ended);
                SEAT.set(None);
                TURNS.set(None);
            }
            drop(output);
            seat.set(Whose::Nobody);
        };
        spawn("auto-mutex-turns", run).expect("a thread");
        turn
    }
}

impl<T> Future for Turn<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let seat = &self.seat;
        *lock(&seat.task) = Some(cx.waker().clone());
        if *lock(&seat.turn) == Whose::Tasks {
            seat.set(Whose::Thread);
        }
        seat.wait(|whose| whose != Whose::Thread);
        match lock(&self.output).take() {
            None => Poll::Pending,
            Some(Ok(output)) => Poll::Ready(output),
            Some(Err(panic)) => resume_unwind(panic),
        }
    }
}

impl<T> Drop for Turn<T> {
    fn drop(&mut self) {
        if *lock(&self.seat.turn) == Whose::Tasks {
            self.seat.set(Whose::Killed);
            self.seat.wait(|whose| whose == Whose::Nobody);
        }
    }
}

/// Runs `work` as a [`Turn`], or returns it if this thread has no [`Turns`].
pub(super) fn on_thread<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
    work: F,
) -> Result<impl Future<Output = T>, F> {
    match Turns::here() {
        None => Err(work),
        Some(turns) => {
            let task = turns.runtime.spawn(Turn::new(work));
            Ok(async move {
                task.await
                    .unwrap_or_else(|error| resume_unwind(error.into_panic()))
            })
        }
    }
}

/// Lets `time` pass if this thread takes turns; returns `false` if it does not.
pub(crate) fn pause(time: Duration) -> bool {
    let Some(turns) = Seat::here().and_then(|_| Turns::here()) else {
        return false;
    };
    let task = turns
        .runtime
        .spawn(async move { tokio::time::sleep(time).await });
    let _ = block_on(task);
    true
}
