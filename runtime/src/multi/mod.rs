//! [`MultiLock`]: several locks, all or none.
//!
//! The handle is here, taking the locks in [`lock`] and, as an algorithm, in [`take`], what a holder has in
//! [`guard`], asking about them and acting on them without the guard in [`manage`]. It is built on the handles of single
//! names: no store knows about it. What all locks have in common is in [`handle`](crate::handle).

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
/// The names may be given in any order, and more than once. Each is a [`Mutex`](crate::Mutex) of its own, which
/// others may use alone.
///
/// All are tried at once: when they are free, that is one round trip to the store. When one is not, it is waited for
/// in its queue like any other lock. Meanwhile the ones that come before it in the order of their names are
/// kept, and those behind it are free for others. So nobody ever waits for a name while holding one that comes
/// after it: two calls cannot wait for each other, whatever the order they were written in, and nobody starves.
///
/// A handle costs nothing until it is used. Options are given by value, before use; `block` is for the
/// whole.
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
    pub fn multi<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> MultiLock {
        MultiLock::of(Some(self), names)
    }
}

impl MultiLock {
    /// The locks called `names`, of the client in force where they are used: see [`Client::multi`].
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::of(None, names)
    }

    fn of<N: Into<String>>(client: Option<&Client>, names: impl IntoIterator<Item = N>) -> Self {
        let handle = |name| Handle::new(client.cloned(), name);
        Self {
            handles: names.into_iter().map(handle).collect(),
            options: Options::default(),
        }
    }

    /// A task that holds some of these locks, or all, may take them again; the guards share the holds. The `expire` of the
    /// inner call bounds that call, and leaves that of the outer one as it is.
    ///
    /// The same task is one inside [`synchronize`](Self::synchronize) or an annotated function; for guards taken
    /// by hand through this handle or its clones, the same tokio task, or the same thread for blocking calls
    /// outside of one.
    pub fn reentrant(mut self) -> Self {
        self.options.reentrant = true;
        self
    }
}

option_methods!(MultiLock);
