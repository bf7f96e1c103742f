//! Two calls of the C library that no maintained crate wraps safely: `atexit` and `pthread_atfork`.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often this process was forked, counted from its first ancestor.
static FORKS: AtomicU32 = AtomicU32::new(0);
static AT_EXIT: OnceLock<fn()> = OnceLock::new();

/// Grows by one in every child of a fork. Cheaper than asking for the process id.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

extern "C" fn in_child() {
    // Only this: a child of a process with threads may do little else.
    FORKS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn at_exit() {
    if let Some(run) = AT_EXIT.get() {
        // A panic must not cross into C.
        let _ = std::panic::catch_unwind(run);
    }
}

/// Counts forks, and calls `at_end` when the process ends, from now on. Returns whether the system agreed.
pub(super) fn register(at_end: fn()) -> bool {
    static AGREED: OnceLock<bool> = OnceLock::new();
    *AGREED.get_or_init(|| {
        AT_EXIT.get_or_init(|| at_end);
        // SAFETY: both functions take pointers to functions that live as long as the program, have the
        // C calling convention and take no arguments; `in_child` only touches an atomic.
        let refused =
            unsafe { libc::atexit(at_exit) | libc::pthread_atfork(None, None, Some(in_child)) };
        refused == 0
    })
}
