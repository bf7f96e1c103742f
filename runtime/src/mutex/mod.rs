//! [`Mutex`]: one holder in the whole cluster.
//!
//! The handle is here, taking the lock in [`take`], what a holder has in [`guard`], acting on it without the guard in
//! [`manage`], sharing it in [`owner`], handing it to another process in [`ticket`]. What all locks have in common is in
//! [`handle`](crate::handle).

mod guard;
mod manage;
mod owner;
mod synchronize;
mod take;
mod ticket;

pub use guard::MutexGuard;
pub use ticket::Ticket;

use crate::client::Client;
use crate::error::kind;
use crate::handle::{Demand, Handle, Options, option_methods, query_methods};

/// What a mutex takes of its name.
pub(crate) const ONE_OF_ONE: Demand = Demand {
    units: 1,
    capacity: kind::MUTEX,
    takes_token: false,
    may_add: false,
};

/// A lock that one holder in the whole cluster has at a time.
///
/// A handle costs nothing until it is used. Options are given by value, before use; a clone shares nothing but
/// them and the memory of what was last obtained through it (see [`unlock`](Self::unlock)).
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
    options: Options,
}

impl Client {
    /// A mutex called `name`, in this client's namespace. If the client has none, `name` is complete: the lock of an
    /// annotated function is then called `package:Type:function`.
    ///
    /// Colons in `name` separate its parts; `{`, `}`, `%`, spaces, control characters and what is not ASCII are
    /// percent-escaped in the store.
    pub fn mutex(&self, name: impl Into<String>) -> Mutex {
        Mutex::of(Handle::new(Some(self.clone()), name))
    }
}

impl Mutex {
    /// A mutex called `name`, of the client in force where it is used: see [`Client::mutex`].
    pub fn new(name: impl Into<String>) -> Self {
        Self::of(Handle::new(None, name))
    }

    fn of(handle: Handle) -> Self {
        let options = Options::default();
        Self { handle, options }
    }

    /// A task that holds this lock may take it again; the guards share one hold. The `expire` of the inner call bounds that
    /// call, and leaves that of the outer one as it is.
    ///
    /// The same task is one inside [`synchronize`](Self::synchronize) or an annotated function; for guards taken
    /// by hand through this handle or its clones, the same tokio task, or the same thread for blocking calls
    /// outside of one. (The future given to `block_on` is no tokio task: there, use `synchronize`.)
    pub fn reentrant(mut self) -> Self {
        self.options.reentrant = true;
        self
    }
}

option_methods!(Mutex);
query_methods!(Mutex);
