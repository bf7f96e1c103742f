//! The functions that let a program handle SIGTERM and SIGINT through this library.

use std::time::Duration;

use super::system::handle_within;
use crate::base::duration::{IntoDuration, length};
use crate::base::error::SetupError;

/// How long bodies may take to end by default. Kubernetes waits for 30 s.
const USUAL_LIMIT: Duration = Duration::from_secs(25);

/// Stops the process cleanly when it gets SIGTERM or SIGINT: lets running bodies end, releases all locks, and then ends
/// the process in the same way as the signal does by default.
///
/// The system ignores the default action of a signal for process 1 of a container. There, the process ends with the
/// exit code 128 + the signal's number, which shells and Kubernetes report for a process that a signal has ended: 143
/// for SIGTERM. Functions that are registered with `atexit` do not run in either case.
///
/// A forked child does not inherit this: its signals have the actions that they had before. It may call this function
/// itself.
///
/// From the signal on, all clients of the process [`drain`](crate::Client::drain): they take no new locks, waiting
/// calls fail with [`LockError::ShutDown`](crate::LockError::ShutDown), and bodies that hold a lock run to their end.
/// As soon as no lock is held, the process ends, and does not wait for work outside of locks. It ends after 25 s at the
/// latest; [`release_on_termination_within`] sets another limit. Locks that are still held then are released, with a
/// warning for each. Their bodies may still write in the last moment; a protected resource can refuse such late writes
/// by the fencing token.
///
/// After a second signal, the process no longer waits for bodies: it releases the locks, and ends within half a second.
///
/// If the program must finish work outside of its locks, handle the signal yourself, and then call
/// [`drain`](crate::drain).
///
/// Without this function, the locks of a process that gets one of these signals are free when their leases end. The
/// same is always true after SIGKILL or `abort`, which no program can handle.
///
/// # Errors
///
/// [`SetupError::BackgroundThread`] if the system refuses the handler or its thread, and always on Windows, which has no
/// such signals: wait for `tokio::signal::ctrl_c()` there, and then call [`drain`](crate::drain).
///
/// ```no_run
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// auto_mutex::setup("redis://127.0.0.1:6379")?;
/// auto_mutex::release_on_termination()?;
/// # Ok(()) }
/// ```
pub fn release_on_termination() -> Result<(), SetupError> {
    handle_within(USUAL_LIMIT)
}

/// Does the same as [`release_on_termination`], with another limit than 25 s. Choose a second or two less than the
/// grace period of the sender of the signal (`docker stop`: 10 s; Kubernetes: `terminationGracePeriodSeconds`). If you
/// call this function again, the last limit applies.
///
/// With zero, the process does not wait for bodies: all locks are released, and the process ends while bodies run.
///
/// # Errors
///
/// The same as for [`release_on_termination`], and [`SetupError::InvalidOption`] if `limit` is not a valid duration.
///
/// ```no_run
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// auto_mutex::setup("redis://127.0.0.1:6379")?;
/// auto_mutex::release_on_termination_within("8s")?;
/// # Ok(()) }
/// ```
pub fn release_on_termination_within(limit: impl IntoDuration) -> Result<(), SetupError> {
    let limit = length(limit).map_err(|reason| SetupError::InvalidOption {
        option: "release_on_termination",
        reason: reason.into(),
    });
    handle_within(limit?)
}
