//! [`Turn`]: blocking code of a test in virtual time, on a thread that takes turns with the tasks of a runtime. One of
//! the two runs at a time, so the order is the test's, and time stands still meanwhile.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;

use super::{block_on, spawn};

/// The task of a thread, to wake when the thread may go on.
pub(super) type Task = Arc<Mutex<Waker>>;

/// What a thread needs to give the turn back, and to get it again. It must end when the other side is gone.
struct Seat {
    task: Task,
    turn: Receiver<()>,
    back: Sender<()>,
}

/// The runtime whose tasks the threads take turns with, and what each thread calls when it begins.
#[derive(Clone)]
pub struct Turns {
    /// Whose tasks they take turns with.
    pub runtime: Handle,
    /// Run first on each thread.
    pub begin: Arc<dyn Fn() + Send + Sync>,
    /// Run before this thread blocks, if it takes no turns. It returns once nothing is left to do.
    pub settle: Arc<dyn Fn() + Send + Sync>,
}

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
    static TURNS: RefCell<Option<Turns>> = const { RefCell::new(None) };
}

impl Turns {
    /// Lets the code of this thread start its threads as [`Turn`]s, or no longer. Returns what was before.
    pub fn replace(turns: Option<Self>) -> Option<Self> {
        TURNS.try_with(|here| here.replace(turns)).ok().flatten()
    }

    /// Whether this thread belongs to a World.
    pub fn are_here() -> bool {
        Self::here().is_some()
    }

    fn here() -> Option<Self> {
        let turns = TURNS.try_with(|turns| turns.borrow().clone());
        turns.ok().flatten()
    }
}

/// The task of this thread, if it takes turns.
pub(super) fn task() -> Option<Task> {
    let task = SEAT.try_with(|seat| Some(seat.borrow().as_ref()?.task.clone()));
    task.ok().flatten()
}

/// Panics if this thread belongs to a World without taking turns, and nothing `has_woken` it: the call would never
/// return.
pub(super) fn check(has_woken: impl Fn() -> bool) {
    if let Some(turns) = Turns::here() {
        (turns.settle)();
        assert!(
            has_woken(),
            "this call blocks a thread while the time of its World stands still, and would never return: call it from `World::thread`"
        );
    }
}

/// Lets the tasks run until the thread is woken, or perhaps earlier.
pub(super) fn sleep() {
    let goes_on = SEAT.with_borrow(|seat| {
        let seat = seat.as_ref()?;
        seat.back.send(()).ok()?;
        seat.turn.recv().ok()
    });
    if goes_on.is_some() {
        return;
    }
    if thread::panicking() {
        // A destructor waits for what never comes.
        drop(SEAT.take());
        loop {
            thread::park();
        }
    }
    resume_unwind(Box::new("the process of this thread was killed"));
}

/// The future of a thread's work. Each poll is a turn of the thread.
pub struct Turn<T> {
    task: Task,
    turn: Option<Sender<()>>,
    back: Receiver<()>,
    output: Arc<Mutex<Option<thread::Result<T>>>>,
}

impl<T: Send + 'static> Turn<T> {
    /// # Panics
    ///
    /// On a thread without [`Turns`].
    pub fn new(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let turns = Turns::here().expect("a thread of a World");
        let (turn, turn_of_thread) = channel();
        let (back_of_thread, back) = channel();
        let task = Task::new(Mutex::new(Waker::noop().clone()));
        let seat = Seat {
            task: task.clone(),
            turn: turn_of_thread,
            back: back_of_thread,
        };
        let output = Arc::new(Mutex::new(None));
        let into = output.clone();
        let run = move || {
            if seat.turn.recv().is_ok() {
                let runtime = turns.runtime.clone();
                let _inside = runtime.enter();
                (turns.begin)();
                Turns::replace(Some(turns));
                SEAT.set(Some(seat));
                let ended = catch_unwind(AssertUnwindSafe(work));
                *into.lock().expect("unpoisoned") = Some(ended);
                // The other side waits for this.
                drop((into, Turns::replace(None), SEAT.take()));
            }
        };
        spawn("auto-mutex-turns", run).expect("a thread");
        let turn = Some(turn);
        Self {
            task,
            turn,
            back,
            output,
        }
    }
}

impl<T> Future for Turn<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        *self.task.lock().expect("unpoisoned") = cx.waker().clone();
        let has_begun = self.turn.as_ref().is_some_and(|turn| turn.send(()).is_ok());
        if has_begun && self.back.recv().is_ok() {
            return Poll::Pending;
        }
        match self.output.lock().expect("unpoisoned").take() {
            None => Poll::Pending,
            Some(Ok(output)) => Poll::Ready(output),
            Some(Err(panic)) => resume_unwind(panic),
        }
    }
}

impl<T> Drop for Turn<T> {
    /// Ends the thread, and waits for that.
    fn drop(&mut self) {
        self.turn = None;
        while self.back.recv().is_ok() {}
    }
}

/// Runs `work` as a [`Turn`], or returns it if this thread has no [`Turns`].
pub(super) fn on_thread<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
    work: F,
) -> Result<impl Future<Output = T>, F> {
    let Some(turns) = Turns::here() else {
        return Err(work);
    };
    let task = turns.runtime.spawn(Turn::new(work));
    Ok(async move {
        task.await
            .unwrap_or_else(|error| resume_unwind(error.into_panic()))
    })
}

/// Lets `time` pass if this thread takes turns; returns `false` if it does not.
pub fn pause(time: Duration) -> bool {
    let Some(turns) = task().and_then(|_| Turns::here()) else {
        return false;
    };
    let slept = turns
        .runtime
        .spawn(async move { tokio::time::sleep(time).await });
    let _ = block_on(slept);
    true
}
