//! Values that a process does not share with its forked children. `exit` counts the forks.

mod per_process;

use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use self::per_process::PerProcess;

/// Grows by one in every child of a fork, from 0 in the process that is no fork.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of forks since the first ancestor; cheaper to read than the process id.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Called in the child of a fork. Async-signal-safe.
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
