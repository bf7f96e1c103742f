//! Two calls of the C library that no maintained crate wraps safely: `atexit` and `pthread_atfork`.

#![allow(unsafe_code)]

use once_cell::race::OnceBool;

use super::WATCHED;
use crate::base::process::forked;

extern "C" fn in_child() {
    forked();
    super::handler::in_child();
}

extern "C" fn at_exit() {
    // A panic must not cross into C.
    let _ = std::panic::catch_unwind(|| WATCHED.get().flush());
}

pub(crate) fn register() -> bool {
    // Without a lock, which a fork could leave taken: two threads may both register, which is harmless.
    static AGREED: OnceBool = OnceBool::new();
    AGREED.get_or_init(|| {
        // SAFETY: both functions take pointers to functions that live as long as the program, have the
        // C calling convention and take no arguments; `in_child` only calls async-signal-safe functions.
        let refused =
            unsafe { libc::atexit(at_exit) | libc::pthread_atfork(None, None, Some(in_child)) };
        refused == 0
    })
}
