//! The functions that let a program handle SIGTERM and SIGINT through this library.

use std::time::Duration;

use super::system::handle_within;
use crate::base::duration::{IntoDuration, length};
use crate::base::error::SetupError;

/// How long bodies may take by default. Kubernetes waits 30 s.
const USUAL_LIMIT: Duration = Duration::from_secs(25);

/// Stops the process cleanly on SIGTERM or SIGINT: lets running bodies end, releases all locks, and then ends the
/// process just as the signal does by default.
///
/// As process 1 of a container, where the system ignores the signals' default action, the process ends with the exit
/// code 128 plus the signal's number (143 for SIGTERM). Shells and Kubernetes report the same for a process ended by a
/// signal. Functions registered with `atexit` do not run in either case.
///
/// Forked children do not inherit this: the previous actions of the signals are restored there. A child may call this
/// function itself.
///
/// From the signal on, all clients of the process [`drain`](crate::Client::drain): they take no new locks, waiting
/// calls fail with [`LockError::ShutDown`](crate::LockError::ShutDown), and bodies that hold a lock run to their end.
/// The process ends once no lock is held, without waiting for work outside of locks, and after 25 s at the latest;
/// [`release_on_termination_within`] sets another limit. Locks still held then are released, with a warning for each.
/// Their bodies may still be writing; a protected resource can refuse such late writes by the fencing token.
///
/// After a second signal, the process stops waiting for bodies: it releases the locks and ends within half a second.
///
/// If the program has to finish work outside of its locks, handle the signal yourself and then call
/// [`drain`](crate::drain).
///
/// Without this function, the locks of a process that gets one of these signals become free when their leases end. That
/// is always the case after SIGKILL or `abort`, which no program can handle.
///
/// # Errors
///
/// [`SetupError::BackgroundThread`] if the system refuses the handler or its thread, and always on Windows, which has
/// no such signals: wait for `tokio::signal::ctrl_c()` there, and then call [`drain`](crate::drain).
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

/// Like [`release_on_termination`], but with another limit than 25 s. Choose a second or two less than the grace period
/// before SIGKILL (`docker stop`: 10 s; Kubernetes: `terminationGracePeriodSeconds`). If called again, the last limit
/// applies.
///
/// With zero, the process doesn't wait for bodies: it releases all locks and ends while bodies run.
///
/// # Errors
///
/// Those of [`release_on_termination`], and [`SetupError::InvalidOption`] if `limit` is not a valid duration.
///
/// ```no_run
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// auto_mutex::setup("redis://127.0.0.1:6379")?;
/// auto_mutex::release_on_termination_within("8s")?;
/// # Ok(()) }
/// ```
pub fn release_on_termination_within(limit: impl IntoDuration) -> Result<(), SetupError> {
    let limit = length(limit);
    let limit = limit.map_err(|reason| SetupError::invalid("release_on_termination", reason));
    handle_within(limit?)
}
