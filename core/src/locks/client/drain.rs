//! Draining: a client takes no new locks, and lets bodies end before it shuts down.

use std::fmt;
use std::future::{Future, pending};
use std::sync::Arc;

use super::Client;
use crate::base::clock::{self, Instant};
use crate::base::duration::{IntoDuration, argument, rounded};
use crate::base::error::LockError;
use crate::base::sync::atomic::{AtomicBool, Ordering};
use crate::base::wait::{first, on_thread};
use crate::observe::HOLD;
use crate::queue::Unfinished;

/// The result of [`Client::drain`]: how the client ended.
///
/// Its `Display` output is a short text, with one line per lock that was still held.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "it says which bodies were cut off"]
pub struct Drained {
    /// The locks whose bodies did not end in time. They were released: their guards are lost, and their async bodies
    /// are cancelled.
    pub left: Vec<Unfinished>,
    /// Whether the store has confirmed every release. Locks without confirmation become free when their leases end.
    pub confirmed: bool,
}

impl Drained {
    /// The result without a client.
    pub(super) fn nothing() -> Self {
        Self {
            left: Vec::new(),
            confirmed: true,
        }
    }

    /// Whether every body has ended and every release is confirmed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.left.is_empty() && self.confirmed
    }
}

impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.left.len() {
            0 => f.write_str("every lock was released")?,
            1 => f.write_str("one lock was still held")?,
            count => write!(f, "{count} locks were still held")?,
        }
        if !self.confirmed {
            f.write_str("; the lock store has not confirmed every release: leases free the rest")?;
        }
        for left in &self.left {
            write!(f, "\n{left}")?;
        }
        Ok(())
    }
}

impl Client {
    /// Stops this client cleanly: it takes no new locks and lets running bodies end, for up to `limit`, and then shuts
    /// down as by [`shutdown`](Self::shutdown). Returns the locks that were still held at that moment.
    ///
    /// As soon as the drain has started:
    ///
    /// - New calls fail with [`LockError::ShutDown`]. So do waiting calls: they leave the queue immediately, so that
    ///   other processes can continue.
    /// - Held locks stay held, and are renewed. When a body ends, its lock is released, without a handoff in this
    ///   process.
    /// - A body may still take nested locks and wait for them, in order to finish. A nested call is one inside the body
    ///   of an annotated function or of `synchronize`; or one whose tokio task or blocked thread holds another lock
    ///   taken by hand. Calls of tasks that a body spawns are not nested.
    /// - Queries, `refresh`, `unlock` and notifications of condition variables work. A call that waits for a
    ///   notification fails like any other waiting call.
    ///
    /// `drain` returns when no lock is held any more. The client is then shut down for good. Do not call `drain` inside
    /// a body: it would wait for that body.
    ///
    /// To start the drain on a signal, or when a token of `tokio_util` is cancelled, wait for that first:
    ///
    /// ```no_run
    /// # async fn serve(token: tokio::sync::Notify) -> Result<(), Box<dyn std::error::Error>> {
    /// let client = auto_mutex::client()?;
    /// let draining = tokio::spawn(async move {
    ///     token.notified().await; // or `token.cancelled()`, or a signal
    ///     client.drain("20s").await
    /// });
    /// // … serve …
    /// let drained = draining.await??;
    /// if !drained.is_complete() {
    ///     eprintln!("{drained}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidOption`] if `limit` is not a valid duration.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the client still drains and shuts down in the background.
    pub async fn drain(&self, limit: impl IntoDuration) -> Result<Drained, LockError> {
        let end = end_of(limit)?;
        Ok(self.draining(end, Arc::new(AtomicBool::new(false))).await)
    }

    /// Drains as [`drain`](Self::drain) does, until the future `end` completes.
    ///
    /// With `std::future::pending()`, there is no time limit for bodies.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future also ends the drain: the remaining locks are released, and the client shuts down in the
    /// background. This allows `drain_until` in a `select!` beside a second signal.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// use std::time::Duration;
    ///
    /// let guard = client.mutex("reports").lock().await?; // nobody drops it
    /// let drained = client.drain_until(tokio::time::sleep(Duration::from_millis(10))).await;
    /// assert_eq!(drained.left[0].name, "reports");
    /// assert!(guard.is_lost());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn drain_until(&self, end: impl Future<Output = ()>) -> Drained {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Stop(self, stopped.clone());
        let stopping = async move {
            end.await;
            drop(stop);
            pending().await
        };
        first(stopping, self.draining(Instant::NEVER, stopped)).await
    }

    /// Like [`drain`](Self::drain), but blocks the thread. Bodies that need this thread, such as tasks of a
    /// single-threaded runtime, cannot end meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`drain`](Self::drain).
    pub fn blocking_drain(&self, limit: impl IntoDuration) -> Result<Drained, LockError> {
        Ok(self.drain_here(end_of(limit)?, &AtomicBool::new(false)))
    }

    /// Drains on a new thread until `end`, or until `stop` is set.
    async fn draining(&self, end: Instant, stop: Arc<AtomicBool>) -> Drained {
        self.core().start_draining();
        let client = self.clone();
        let drain = on_thread("auto-mutex-drain", move || client.drain_here(end, &stop));
        // If no thread can be started, the drain does not wait for bodies, which may need this thread.
        drain
            .await
            .unwrap_or_else(|_| self.ended(self.core().held()))
    }

    fn drain_here(&self, end: Instant, stop: &AtomicBool) -> Drained {
        self.ended(self.core().drain(end, stop))
    }

    fn ended(&self, left: Vec<Unfinished>) -> Drained {
        for left in &left {
            let (name, site, held) = (&left.name, &left.site, left.held);
            tracing::warn!(target: HOLD, %name, %site, held = ?rounded(held), "a body did not end in time: its lock is released");
        }
        let core = self.core();
        let confirmed = core.shut_down(core.settings().store_timeout());
        Drained { left, confirmed }
    }
}

fn end_of(limit: impl IntoDuration) -> Result<Instant, LockError> {
    Ok(clock::now().after(argument("drain", limit)?))
}

/// Ends a drain when it is dropped.
struct Stop<'a>(&'a Client, Arc<AtomicBool>);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Release);
        self.0.core().look();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::name::Name;

    #[test]
    fn what_is_left_is_said_line_by_line() {
        let unfinished = |name| Unfinished {
            site: "books::close at src/main.rs:12".to_owned(),
            ..Unfinished::new(&Name::from_escaped(name), "", Duration::from_secs(3), None)
        };
        let mut drained = Drained::nothing();
        assert_eq!(drained.to_string(), "every lock was released");
        assert!(drained.is_complete());
        drained.left = vec![unfinished("m"), unfinished("n")];
        drained.confirmed = false;
        assert_eq!(
            drained.to_string(),
            "2 locks were still held; the lock store has not confirmed every release: leases free the rest\n\
             `m` for 3s, by books::close at src/main.rs:12\n\
             `n` for 3s, by books::close at src/main.rs:12"
        );
        assert!(!drained.is_complete());
    }
}
