//! [`Lane`]: a queue of jobs, and the thread that runs them one after another.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

pub(in crate::wait) type Job = Box<dyn FnOnce() + Send>;

#[cfg(test)]
thread_local! {
    /// Whether lanes of this thread get no thread from the system.
    pub(super) static NO_THREADS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// While `limit` jobs wait, new ones are dropped and counted. When it's dropped, its thread runs the remaining jobs.
pub(super) struct Lane {
    name: &'static str,
    limit: usize,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    left_out: u64,
    has_thread: bool,
    busy: bool,
    closed: bool,
}

impl Lane {
    pub(super) fn new(name: &'static str, limit: usize) -> Self {
        Self {
            name,
            limit,
            shared: Arc::default(),
        }
    }

    pub(super) fn push(&self, job: Job) {
        let mut state = self.shared.lock();
        if state.queue.len() >= self.limit {
            state.left_out += 1;
            return;
        }
        if !state.has_thread && !self.spawn() {
            // The system gives no new thread. The job runs on this thread, which is better than never.
            drop(state);
            return run(job);
        }
        state.has_thread = true;
        state.queue.push_back(job);
        drop(state);
        self.shared.changed.notify_one();
    }

    fn spawn(&self) -> bool {
        #[cfg(test)]
        if NO_THREADS.get() {
            return false;
        }
        let shared = self.shared.clone();
        let thread = thread::Builder::new().name(self.name.to_owned());
        thread.spawn(move || shared.run()).is_ok()
    }

    pub(super) fn is_idle(&self) -> bool {
        let state = self.shared.lock();
        state.queue.is_empty() && !state.busy
    }
}

/// Runs a job. Its panic stops neither the thread nor the other jobs; the panic hook has reported it.
fn run(job: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        loop {
            while let Some(job) = state.queue.pop_front() {
                let left_out = std::mem::take(&mut state.left_out);
                state.busy = true;
                drop(state);
                run(|| {
                    if left_out > 0 {
                        tracing::warn!(
                            left_out,
                            "events were dropped, because the subscriber is slow or blocks"
                        );
                    }
                });
                run(job);
                state = self.lock();
                state.busy = false;
            }
            if state.closed {
                return;
            }
            let waiting = self.changed.wait(state);
            state = waiting.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
    }
}
