//! [`Lane`]: a queue of things to do, and the thread that does them one after another.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What comes when more than so many wait is left out, and counted. When it is dropped, the thread does what is left, and ends.
pub(super) struct Lane<T> {
    name: &'static str,
    limit: usize,
    run: fn(T),
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    queue: VecDeque<T>,
    left_out: u64,
    /// There is a thread.
    served: bool,
    busy: bool,
    closed: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Lane<T> {
    pub(super) fn new(name: &'static str, limit: usize, run: fn(T)) -> Self {
        let state = Mutex::new(State {
            queue: VecDeque::new(),
            left_out: 0,
            served: false,
            busy: false,
            closed: false,
        });
        let changed = Condvar::new();
        Self {
            name,
            limit,
            run,
            shared: Arc::new(Shared { state, changed }),
        }
    }

    pub(super) fn push(&self, item: T) {
        let mut state = self.shared.lock();
        if state.queue.len() >= self.limit {
            state.left_out += 1;
            return;
        }
        if !state.served && !self.serve() {
            // The system has no thread for it: better here than never.
            drop(state);
            return (self.run)(item);
        }
        state.served = true;
        state.queue.push_back(item);
        drop(state);
        self.shared.changed.notify_one();
    }

    fn serve(&self) -> bool {
        let (shared, run) = (self.shared.clone(), self.run);
        let thread = thread::Builder::new().name(self.name.to_owned());
        thread.spawn(move || shared.serve(run)).is_ok()
    }

    /// Whether all is done.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.shared.lock();
        state.queue.is_empty() && !state.busy
    }
}

impl<T> Shared<T> {
    fn serve(&self, run: fn(T)) {
        let mut state = self.lock();
        loop {
            while let Some(item) = state.queue.pop_front() {
                let left_out = std::mem::take(&mut state.left_out);
                state.busy = true;
                drop(state);
                // The panic of one is nothing to the others. (It was reported by its hook.)
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    if left_out > 0 {
                        tracing::warn!(left_out, "more came up than the subscriber could be told");
                    }
                }));
                let _ = catch_unwind(AssertUnwindSafe(|| run(item)));
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

impl<T> Drop for Lane<T> {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
    }
}
