//! [`Mutex`]: one holder in the whole cluster.

mod manage;
mod owner;
mod take;
mod ticket;

pub use ticket::Ticket;

use crate::locks::client::Client;
use crate::locks::handle::{
    Handle, Holding, Reentry, guard_methods, option_methods, query_methods,
};
use crate::locks::handle::{single_guard_methods, unlock_methods};

/// A lock with at most one holder at a time in the whole cluster.
///
/// A handle costs nothing until it is used. Set the options before use: their methods take and return the handle. A
/// clone has the same options. For methods such as [`unlock`](Self::unlock), a handle and its clones count as one:
/// `unlock` of a clone releases a lock that was taken through the original.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use std::time::Duration;
/// use auto_mutex::Client;
///
/// let client = Client::connect("memory://")?;
/// let mutex = client.mutex("reports").block(Duration::from_secs(3));
/// let guard = mutex.lock().await?;
/// println!("token {}", guard.fencing_token());
/// guard.unlock().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is locked"]
pub struct Mutex {
    handle: Handle,
}

impl Client {
    /// A mutex called `name`, in the namespace of this client, if there is one. A function that is annotated with the
    /// same `name = "…"` uses the same lock. Without the option `name`, the lock of a function is called
    /// `package:Type:function`.
    ///
    /// Colons in `name` separate its parts; `{`, `}`, `%`, spaces, control and non-ASCII characters are percent-escaped
    /// in the store.
    #[track_caller]
    pub fn mutex(&self, name: impl Into<String>) -> Mutex {
        let handle = Handle::new(Some(self.clone()), name);
        Mutex { handle }
    }
}

impl Mutex {
    /// A mutex called `name`, of the client that is in force where the mutex is used: see [`Client::mutex`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        let handle = Handle::new(None, name);
        Self { handle }
    }

    /// Allows a task that holds this lock to take the lock again; the guards share one hold. The `expire` of the inner
    /// call limits only the inner call, and does not change the `expire` of the outer call.
    ///
    /// A guard of a re-entrant handle counts as held by the task that took it, so don't move it to another task. The
    /// guide has [the whole rule](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/handles#which-task-holds-a-lock).
    pub fn reentrant(mut self) -> Self {
        self.handle.options.reentry = Reentry::Enters;
        self
    }
}

option_methods!(Mutex, handle.options);
query_methods!(Mutex);

/// A held lock. Dropping it releases the lock in the background, from any thread, with or without a runtime.
///
/// A lock with a lease can be lost while its guard exists: if the store was unreachable for a whole lease, if `expire`
/// is over, or if a program took it away with `force_unlock`. [`is_lost`](Self::is_lost), [`check`](Self::check) and
/// [`lost`](Self::lost) report the loss, at the latest when the lease ends by the local clock. If an action must never
/// happen twice, pass [`fencing_token`](Self::fencing_token) to the resource that it changes.
#[must_use = "if unused, the lock is released at once"]
pub struct MutexGuard {
    pub(crate) holding: Holding,
}

single_guard_methods!(MutexGuard);
guard_methods!(MutexGuard);
unlock_methods!(MutexGuard);
