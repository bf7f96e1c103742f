//! The end of the process on Windows, which has no forks and no signals.

#![allow(unsafe_code)]

use std::time::Duration;

use once_cell::race::OnceBool;

use super::at_exit;
use crate::base::error::SetupError;

/// From now on, notices the end of `main`. (On Windows, `std::process::exit` runs no functions of `atexit`.)
pub(crate) fn register() -> bool {
    static AGREED: OnceBool = OnceBool::new();
    // SAFETY: the function lives as long as the program, has the C calling convention and takes no arguments.
    AGREED.get_or_init(|| unsafe { libc::atexit(at_exit) } == 0)
}

pub(super) fn handle_within(_: Duration) -> Result<(), SetupError> {
    Err(SetupError::background_thread(
        "Windows has no SIGTERM: wait for `tokio::signal::ctrl_c()` or `ctrl_close()`, and then call `auto_mutex::drain`",
    ))
}
