//! Two calls of the C library that no kept crate wraps safely: `atexit` and `pthread_atfork`.

#![allow(unsafe_code)]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often this process is a fork of a fork.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Grows by one in every child of a fork. Cheaper than asking for the process id.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

extern "C" fn in_child() {
    // Only this: after a fork little else is allowed.
    FORKS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn at_exit() {
    // A panic must not cross into C.
    let _ = std::panic::catch_unwind(super::exit::flush);
}

/// Has the end and the forks of this process noticed, from now on. Returns whether the system agreed.
pub(super) fn register() -> bool {
    static ONCE: Once = Once::new();
    static AGREED: AtomicU32 = AtomicU32::new(0);
    ONCE.call_once(|| {
        // SAFETY: both functions take pointers to functions that live as long as the program, have the
        // C calling convention and take no arguments; `in_child` only touches an atomic.
        let refused =
            unsafe { libc::atexit(at_exit) | libc::pthread_atfork(None, None, Some(in_child)) };
        AGREED.store(u32::from(refused == 0), Ordering::Relaxed);
    });
    AGREED.load(Ordering::Relaxed) == 1
}
