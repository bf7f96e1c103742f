//! [`Semaphore`]: limits the number of holders in the whole cluster.

mod acquire;
mod existence;
mod permit;
mod signal;

pub use permit::Permit;

use crate::base::error::{LockError, kind};
use crate::locks::client::Client;
use crate::locks::handle::{Handle, Reentry, option_methods, query_methods};
use crate::store::Share;

/// A fixed number of permits for the whole cluster.
///
/// Waiters are served in order of arrival: a request for few permits does not overtake an earlier request for many.
/// All users of a name must give the same number of permits. A call with another number gets
/// [`LockError::PermitsMismatch`] while the name is in use.
///
/// A [signalled](Self::signal) token is an additional permit that only one call gets. A semaphore with zero permits
/// is a queue of tokens.
///
/// A handle costs nothing until it is used. Set the options before use: their methods take and return the handle.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::Client;
///
/// let client = Client::connect("memory://")?;
/// let downloads = client.semaphore("downloads", 3);
/// let one = downloads.acquire().await?;
/// let two = downloads.acquire_many(2).await?;
/// assert!(downloads.try_acquire().await?.is_none());
/// assert_eq!(two.release().await?, 2);
/// # drop(one);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until a permit is acquired"]
pub struct Semaphore {
    handle: Handle,
    permits: u32,
}

impl Client {
    /// A semaphore called `name` with `permits` permits, in this client's namespace: for the name, see
    /// [`mutex`](Self::mutex).
    #[track_caller]
    pub fn semaphore(&self, name: impl Into<String>, permits: u32) -> Semaphore {
        let handle = Handle::new(Some(self.clone()), name);
        Semaphore { handle, permits }
    }
}

impl Semaphore {
    /// A semaphore called `name` with `permits` permits. It uses the client that is in force where a permit is
    /// acquired: see [`Client::semaphore`].
    #[track_caller]
    pub fn new(name: impl Into<String>, permits: u32) -> Self {
        let handle = Handle::new(None, name);
        Self { handle, permits }
    }

    /// If a task already holds at least as many permits as it asks for, the inner call shares them instead of taking
    /// more. The `expire` of the inner call limits only the inner call, and does not change the `expire` of the outer
    /// call. If the handle is not re-entrant, every call takes permits of its own.
    ///
    /// A guard of a re-entrant handle counts as held by the task that took it, so don't move it to another task. The
    /// guide has [the whole rule](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/handles#which-task-holds-a-lock).
    pub fn reentrant(mut self) -> Self {
        self.handle.options.reentry = Reentry::Enters;
        self
    }
}

pub(crate) fn share(units: u32, permits: u32) -> Result<Share, LockError> {
    check(permits)?;
    if units == 0 {
        let reason = "asked for none: acquire at least one";
        return Err(LockError::invalid("permits", reason));
    }
    // A semaphore without permits grants only tokens, one at a time.
    if units > permits.max(1) {
        return Err(LockError::too_many_permits());
    }
    Ok(Share::permits(units, permits))
}

fn check(permits: u32) -> Result<(), LockError> {
    if permits >= kind::RW_LOCK {
        let reason = "a semaphore has less than 2^30 permits";
        return Err(LockError::invalid("permits", reason));
    }
    Ok(())
}

option_methods!(Semaphore, handle.options);
query_methods!(Semaphore);
