use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

pub(in crate::wait) type Job = Box<dyn FnOnce() + Send>;

#[cfg(test)]
thread_local! {
    /// Whether lanes of this thread get no thread from the system.
    pub(super) static NO_THREADS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs jobs one after another on a thread. While `limit` jobs wait, new ones are dropped. When it's dropped, the
/// remaining jobs still run.
pub(super) struct Lane {
    name: &'static str,
    limit: usize,
    jobs: OnceCell<Sender<Job>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    pending: AtomicUsize,
    left_out: AtomicU64,
}

impl Lane {
    pub(super) fn new(name: &'static str, limit: usize) -> Self {
        Self {
            name,
            limit,
            jobs: OnceCell::new(),
            counts: Arc::default(),
        }
    }

    pub(super) fn push(&self, job: Job) {
        if self.counts.pending.load(Ordering::Acquire) > self.limit {
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let Some(jobs) = self.jobs.get().or_else(|| self.spawn()) else {
            // Better on this thread than never.
            return run(job);
        };
        self.counts.pending.fetch_add(1, Ordering::AcqRel);
        let _ = jobs.send(job);
    }

    fn spawn(&self) -> Option<&Sender<Job>> {
        #[cfg(test)]
        if NO_THREADS.get() {
            return None;
        }
        let (sender, receiver) = channel();
        let counts = self.counts.clone();
        let thread = thread::Builder::new().name(self.name.to_owned());
        thread.spawn(move || counts.run_all(receiver)).ok()?;
        Some(self.jobs.get_or_init(|| sender))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.counts.pending.load(Ordering::Acquire) == 0
    }
}

impl Counts {
    fn run_all(&self, jobs: Receiver<Job>) {
        for job in jobs {
            let left_out = self.left_out.swap(0, Ordering::Relaxed);
            if left_out > 0 {
                run(|| {
                    tracing::warn!(
                        left_out,
                        "events were dropped, because the subscriber is slow or blocks"
                    );
                });
            }
            run(job);
            self.pending.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// The panic hook has reported a panic.
fn run(job: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}
