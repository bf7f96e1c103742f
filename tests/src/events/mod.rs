//! Waits for conditions, with a time limit.
//!
//! Every wait of a test uses these functions, so that a bug shows as a failed test that names the missing condition,
//! never as a hanging one. The limit is generous: only a wait that would never end reaches it.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::{LockError, LockInfo, Mutex, RwLock, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::Sleep;

/// The time limit for events that should happen immediately, on a slow and busy machine. It is shorter than the limit
/// of a whole test, so that the missing event is named.
pub const PATIENCE: Duration = Duration::from_secs(50);

/// A lease that outlasts every test, so that no event in a test is caused by its end.
pub const LONG: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(2);

thread_local! {
    static SLEEP: Cell<fn(Duration)> = const { Cell::new(thread::sleep) };
}

/// Lets the waits of this thread pause by `sleep`.
pub fn pause_by(sleep: fn(Duration)) {
    SLEEP.set(sleep);
}

/// Waits until `condition` holds; panics with `what` if it does not hold within [`PATIENCE`].
#[track_caller]
pub fn eventually(what: &str, condition: impl FnMut() -> bool) {
    eventually_within(PATIENCE, what, condition);
}

/// Waits until `condition` holds; panics with `what` if it does not hold within `limit`.
#[track_caller]
pub fn eventually_within(limit: Duration, what: &str, condition: impl FnMut() -> bool) {
    assert!(
        happens_within(limit, condition),
        "not within {limit:?}: {what}"
    );
}

/// Waits until `condition` holds, for `limit` at most. Returns whether the condition holds.
pub fn happens_within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    let mut paused = Duration::ZERO;
    loop {
        if condition() {
            return true;
        }
        if started.elapsed().max(paused) >= limit {
            return false;
        }
        SLEEP.get()(PAUSE);
        paused += PAUSE;
    }
}

/// Waits until the asynchronous `condition` holds; panics with `what` if it does not hold within [`PATIENCE`].
pub async fn becomes(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let started = tokio::time::Instant::now();
    while !condition().await {
        assert!(
            started.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for the output of `future`; panics with `what` if it does not come within [`PATIENCE`].
pub fn soon<F: Future>(what: &str, future: F) -> Soon<'_, F> {
    Soon {
        what,
        future: Box::pin(future),
        limit: None,
    }
}

/// See [`soon`]. Little of it is compiled again for each of its many futures.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Soon<'a, F> {
    what: &'a str,
    future: Pin<Box<F>>,
    limit: Option<Pin<Box<Sleep>>>,
}

impl<F: Future> Future for Soon<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let polled = self.future.as_mut().poll(cx);
        if polled.is_pending() {
            let what = self.what;
            check(what, &mut self.limit, cx);
        }
        polled
    }
}

fn check(what: &str, limit: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>) {
    let limit = limit.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
    let is_over = limit.as_mut().poll(cx).is_ready();
    assert!(!is_over, "not within {PATIENCE:?}: {what}");
}

/// A lock that answers questions about itself.
pub trait Asked {
    /// Who holds the lock, and who waits for it.
    fn asked(&self) -> impl Future<Output = Result<LockInfo, LockError>>;
}

macro_rules! asked {
    ($($lock:ty),+) => {
        $(impl Asked for $lock {
            async fn asked(&self) -> Result<LockInfo, LockError> {
                self.info().await
            }
        })+
    };
}

asked!(Mutex, RwLock, Semaphore);

/// Waits until `count` waiters wait for the lock.
pub async fn waiters(observer: &impl Asked, count: usize) {
    becomes(&format!("{count} waiters are seen"), async || {
        let info = observer.asked().await;
        info.is_ok_and(|info| info.waiters.len() == count)
    })
    .await;
}

/// Spawns a task that has a clone of `value`.
pub fn with<T: Clone, F>(value: &T, task: impl FnOnce(T) -> F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(task(value.clone()))
}

/// Waits for the outputs of all `tasks`, as [`soon`].
pub async fn ended<T>(what: &str, tasks: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    let mut outputs = Vec::new();
    for task in tasks {
        let output = soon(what, task).await;
        outputs.push(output.expect("the task does not panic"));
    }
    outputs
}

/// Runs `work` on another thread; panics with `what` if it does not end within `limit`.
///
/// This is for blocking calls, which cannot be cancelled. A panic of `work` is passed on.
#[track_caller]
pub fn finishes_within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let thread = thread::spawn(work);
    eventually_within(limit, what, || thread.is_finished());
    match thread.join() {
        Ok(output) => output,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// As [`finishes_within`], with the limit [`PATIENCE`].
#[track_caller]
pub fn finishes<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    finishes_within(PATIENCE, what, work)
}
