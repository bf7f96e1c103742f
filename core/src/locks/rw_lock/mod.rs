//! [`RwLock`]: any number of readers, or one writer, in the whole cluster.

mod guard;
mod take;

pub use guard::{RwLockReadGuard, RwLockWriteGuard};

use crate::locks::client::Client;
use crate::locks::handle::{Handle, Reentry, option_methods, query_methods};

/// A lock that any number of readers, or one writer, may hold at a time in the whole cluster.
///
/// Readers and writers wait in one queue, in order of arrival, so neither side starves. A reader that arrives while a
/// writer waits gets the lock after that writer. Readers that are next to each other in the queue get the lock together.
///
/// A reader cannot become a writer: a task that holds the lock for reading, and asks to write, would wait for itself.
///
/// A handle costs nothing until it is used. Set the options before use: their methods take and return the handle.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::Client;
///
/// let client = Client::connect("memory://")?;
/// let table = client.rw_lock("table");
/// let (one, other) = (table.read().await?, table.read().await?);
/// assert!(table.try_write().await?.is_none());
/// one.unlock().await?;
/// other.unlock().await?;
/// let writer = table.write().await?;
/// assert!(table.try_read().await?.is_none());
/// # drop(writer);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is locked"]
pub struct RwLock {
    handle: Handle,
}

impl Client {
    /// A readers-writer lock called `name`, in this client's namespace: for the name, see [`mutex`](Self::mutex).
    #[track_caller]
    pub fn rw_lock(&self, name: impl Into<String>) -> RwLock {
        let handle = Handle::new(Some(self.clone()), name);
        RwLock { handle }
    }
}

impl RwLock {
    /// A readers-writer lock called `name`, of the client that is in force where the lock is used: see
    /// [`Client::rw_lock`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        let handle = Handle::new(None, name);
        Self { handle }
    }

    /// Allows a task that holds the lock to take the lock again: a reader for reading, a writer for reading or for
    /// writing. The guards share one hold. The `expire` of the inner call limits only the inner call, and does not
    /// change the `expire` of the outer call. A task that holds the lock for reading, and asks to write, gets
    /// [`LockError::Deadlock`](crate::LockError::Deadlock).
    ///
    /// A guard of a re-entrant handle counts as held by the task that took it, so don't move it to another task. The
    /// guide has [the whole rule](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/handles#which-task-holds-a-lock).
    pub fn reentrant(mut self) -> Self {
        self.handle.options.reentry = Reentry::Enters;
        self
    }
}

option_methods!(RwLock, handle.options);
query_methods!(RwLock);
