//! [`real_time`]: marks a test whose outcome depends on the real clock.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// After this time, such a test has hung.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Ends the watch when dropped.
#[must_use = "the watch ends when this is dropped"]
pub struct RealTime {
    _ends: Sender<()>,
}

/// Declares that the test waits for something that only the real clock brings: the end of a lease on a real server, a
/// failover, a frozen or killed process, an unplugged cable, a server's timeout. Call it in the first line of the test:
/// `let _watch = real_time();`.
///
/// Everything else is tested in virtual time or waits for events, so there are few such tests. A test that takes longer
/// than a minute has hung. The process then ends with the name of the test, because nothing can end the test alone.
pub fn real_time() -> RealTime {
    real_time_for(Duration::ZERO)
}

/// As [`real_time`], for a contest whose length may be set. Only a length beyond the usual one raises the limit.
pub fn real_time_for(length: Duration) -> RealTime {
    let limit = LIMIT.max(3 * length);
    let (ends, ended) = channel::<()>();
    let test = thread::current().name().unwrap_or("a test").to_owned();
    thread::spawn(move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test} has hung: it has not ended within {limit:?}");
            std::process::abort();
        }
    });
    RealTime { _ends: ends }
}
