use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use crate::base::target::STORE;
use crate::base::wait::spawn;

pub(crate) type Job = Box<dyn FnOnce() + Send>;

#[cfg(test)]
thread_local! {
    /// Makes lanes of this thread fail to start a thread.
    pub(super) static NO_THREADS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs jobs one after another on a thread, and drops new ones while `limit` jobs wait. After its drop, the remaining
/// jobs still run.
pub(super) struct Lane {
    name: &'static str,
    limit: usize,
    jobs: OnceCell<Sender<Job>>,
    pending: Arc<AtomicUsize>,
    left_out: Arc<AtomicU64>,
}

impl Lane {
    pub(super) fn new(name: &'static str, limit: usize) -> Self {
        Self {
            name,
            limit,
            jobs: OnceCell::new(),
            pending: Arc::default(),
            left_out: Arc::default(),
        }
    }

    pub(super) fn push(&self, job: Job) {
        if self.pending.load(Ordering::Acquire) > self.limit {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let Some(jobs) = self.jobs.get().or_else(|| self.spawn()) else {
            // Late on this thread is better than never.
            return run(job);
        };
        self.pending.fetch_add(1, Ordering::AcqRel);
        let _ = jobs.send(job);
    }

    fn spawn(&self) -> Option<&Sender<Job>> {
        #[cfg(test)]
        if NO_THREADS.get() {
            return None;
        }
        let (sender, receiver) = channel::<Job>();
        let (pending, left_out) = (self.pending.clone(), self.left_out.clone());
        let work = move || {
            for job in receiver {
                warn(left_out.swap(0, Ordering::Relaxed));
                run(job);
                pending.fetch_sub(1, Ordering::AcqRel);
            }
        };
        spawn(self.name, work).ok()?;
        Some(self.jobs.get_or_init(|| sender))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }
}

fn warn(left_out: u64) {
    if left_out > 0 {
        run(|| {
            tracing::warn!(
                target: STORE,
                left_out,
                "events were dropped, because the subscriber is slow or blocks"
            );
        });
    }
}

/// The panic hook has already reported the panic.
fn run(job: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}
