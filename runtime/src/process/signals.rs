//! Releasing locks on SIGTERM and SIGINT, if the program asks for it.

use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::error::SetupError;

/// Releases all locks when the process gets SIGTERM or SIGINT, then ends the process as the signal does by default.
///
/// **It waits for no body.** A task or thread that holds a lock is ended wherever it is, as the signal alone would
/// end it. It may even run on for up to half a second after its lock was released; a protected resource can refuse
/// such late writes by the fencing token. So use this function only in programs that may be ended anywhere. If bodies
/// must run to their end, handle the signal yourself: stop taking work, wait for the running bodies, then call
/// [`shutdown`](crate::shutdown).
///
/// Without this function, the locks of a process that gets one of these signals are free when their leases end. After
/// SIGKILL or `abort`, which no program can handle, that is always so.
///
/// If a store does not answer, the process ends after half a second at most.
///
/// # Errors
///
/// [`SetupError::Engine`] if the system refuses the handler or its thread.
///
/// ```no_run
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// auto_mutex::setup("redis://127.0.0.1:6379")?;
/// auto_mutex::release_on_termination()?;
/// # Ok(()) }
/// ```
pub fn release_on_termination() -> Result<(), SetupError> {
    let failed = |error: std::io::Error| SetupError::Engine {
        reason: error.to_string(),
    };
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            super::exit::flush();
            if emulate_default_handler(signal).is_err() {
                std::process::exit(128 + signal);
            }
        }
    };
    thread::Builder::new()
        .name("auto-mutex-signals".to_owned())
        .spawn(wait)
        .map_err(failed)?;
    Ok(())
}
