//! Two calls of the C library that no maintained crate wraps safely: `atexit` and `pthread_atfork`.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks between this process and its first ancestor.
static FORKS: AtomicU32 = AtomicU32::new(0);
static AT_EXIT: OnceLock<fn()> = OnceLock::new();

/// Grows by one in every child of a fork. Reading it is cheaper than asking for the process id.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

extern "C" fn in_child() {
    // Does nothing else, because the child of a process with threads may call few functions.
    FORKS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn at_exit() {
    if let Some(run) = AT_EXIT.get() {
        // A panic must not cross into C.
        let _ = std::panic::catch_unwind(run);
    }
}

/// From this call on, counts forks, and calls `at_end` when the process ends. Returns whether the system accepted
/// both.
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
