//! [`MultiLock`]: several locks, all or none.
//!
//! It consists of mutexes; no store knows about it. [`take`] has the algorithm, [`manage`] the operations without a
//! guard. The parts that all locks share are in [`handle`](crate::handle).

mod budget;
mod guard;
mod lock;
mod manage;
mod names;
pub(crate) mod take;

pub use guard::MultiGuard;

use crate::client::Client;
use crate::handle::{Handle, Options, option_methods};

/// Several locks that are taken together, all or none.
///
/// The names may be given in any order, and more than once. Each name is a [`Mutex`](crate::Mutex) of its own, which
/// other callers may also take alone.
///
/// A call tries all locks at once: if they are free, this is one round trip to the store. If one is busy, the call
/// waits in the queue of that lock. While it waits, it keeps the locks whose names sort before the busy one, and
/// releases the others. So no call waits for a lock while it holds one whose name sorts after it. Therefore two calls
/// cannot wait for each other, in whatever order they give the names, and no call starves.
///
/// A handle costs nothing until it is used. Options are set by value, before use; `block` is for all locks together.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use auto_mutex::Client;
///
/// let client = Client::connect("memory://")?;
/// let accounts = client.multi(["account:7", "account:3"]);
/// let guard = accounts.lock().await?;
/// assert_eq!(guard.names().collect::<Vec<_>>(), ["account:3", "account:7"]);
/// assert!(client.mutex("account:7").is_locked().await?);
/// guard.unlock().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a handle does nothing until it is locked"]
pub struct MultiLock {
    handles: Vec<Handle>,
    options: Options,
}

impl Client {
    /// The locks called `names`, in this client's namespace: for each name, see [`mutex`](Self::mutex).
    #[track_caller]
    pub fn multi<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> MultiLock {
        MultiLock::of(Some(self), names)
    }
}

impl MultiLock {
    /// The locks called `names`, of the client that is in force where they are used: see [`Client::multi`].
    #[track_caller]
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::of(None, names)
    }

    #[track_caller]
    fn of<N: Into<String>>(client: Option<&Client>, names: impl IntoIterator<Item = N>) -> Self {
        let mut handles = Vec::new();
        // A loop instead of a closure: in a closure, `#[track_caller]` would not find the caller.
        for name in names {
            handles.push(Handle::new(client.cloned(), name));
        }
        Self {
            handles,
            options: Options::default(),
        }
    }

    /// A task that holds some of these locks, or all, may take them again; the guards share the holds. The `expire`
    /// of the inner call limits only the inner call, and does not change the `expire` of the outer call.
    ///
    /// A call is in the same task if the body of [`synchronize`](Self::synchronize), or of an annotated function,
    /// makes it. If the locks were taken as a guard, through this handle or its clones, a call is in the same task if
    /// it is made in the same tokio task, or, outside of any tokio task, on the same thread.
    pub fn reentrant(mut self) -> Self {
        self.options.reentrant = true;
        self
    }
}

option_methods!(MultiLock);
