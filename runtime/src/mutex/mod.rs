//! [`Mutex`]: one holder in the whole cluster.
//!
//! The handle and its options are here, taking the lock in [`take`], what a holder has in [`guard`], what
//! can be asked about a lock in [`info`], handing it to another process in [`ticket`].

mod guard;
mod info;
mod manage;
mod synchronize;
mod take;
mod ticket;

use std::sync::{Arc, Weak};
use std::time::Duration;

pub use guard::MutexGuard;
pub use info::{LockInfo, Waiting};
pub use ticket::Ticket;

use self::take::Identity;
use crate::client::Client;
use crate::error::LockError;
use crate::lease::Hold;
use crate::name::Name;
use crate::wait::lock;

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
    client: Option<Client>,
    name: Named,
    options: Options,
    last: Arc<std::sync::Mutex<Last>>,
}

impl Client {
    /// A mutex called `name`, in this client's namespace. If the client has none, `name` is complete: the lock of an
    /// annotated function is then called `package:Type:function`.
    ///
    /// Colons in `name` separate its parts; `{`, `}`, `%`, spaces, control characters and what is not ASCII are
    /// percent-escaped in the store.
    pub fn mutex(&self, name: impl Into<String>) -> Mutex {
        Mutex::with(Some(self.clone()), Named::Verbatim(name.into()))
    }
}

/// How the name was given.
#[derive(Clone, Debug)]
enum Named {
    /// By the user: the namespace of the client comes before it.
    Verbatim(String),
    /// Complete.
    Complete(Name, Arc<str>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Options {
    /// `None`: the client's.
    expire: Option<Expire>,
    block: Option<Duration>,
    retries: Option<(u32, Duration)>,
    at_least: Duration,
    reentrant: bool,
}

#[derive(Clone, Copy, Debug)]
enum Expire {
    After(Duration),
    Never,
}

/// What was last obtained through a handle or its clones, and by whom.
#[derive(Debug, Default)]
struct Last {
    hold: Weak<Hold>,
    by: Option<Identity>,
}

impl Mutex {
    /// A mutex called `name`, of the client in force where it is used: see [`Client::mutex`].
    pub fn new(name: impl Into<String>) -> Self {
        Self::with(None, Named::Verbatim(name.into()))
    }

    /// A mutex with a complete name, for an annotated function; `site` tells others who holds it.
    pub(crate) fn at(client: Client, name: Name, site: Arc<str>) -> Self {
        Self::with(Some(client), Named::Complete(name, site))
    }

    fn with(client: Option<Client>, name: Named) -> Self {
        Self {
            client,
            name,
            options: Options::default(),
            last: Arc::default(),
        }
    }

    /// How long a holder may hold at most; `refresh` restarts it. Unless said, the client's (24 hours).
    ///
    /// This is not the time after which the lock of a dead process is freed: that is the lease, which is short
    /// and renewed in the background.
    pub fn expire(mut self, expire: Duration) -> Self {
        self.options.expire = Some(Expire::After(expire));
        self
    }

    /// A holder may hold for as long as its process lives.
    pub fn never_expire(mut self) -> Self {
        self.options.expire = Some(Expire::Never);
        self
    }

    /// How long to wait for the lock. Unless said, the client's (as long as it takes); zero: not at all.
    pub fn block(mut self, block: Duration) -> Self {
        self.options.block = Some(block);
        self
    }

    /// Poll instead of queueing: up to `n` more attempts after the first, `interval` apart, then
    /// [`LockError::TooManyAttempts`]. The queue is fair and cheaper; this is for those who come from
    /// libraries that poll.
    pub fn retries(mut self, n: u32, interval: Duration) -> Self {
        self.options.retries = Some((n, interval));
        self
    }

    /// A task that holds this lock may take it again; the guards share one hold, and `expire` starts again.
    ///
    /// The same task is one inside [`synchronize`](Self::synchronize) or an annotated function; for guards taken
    /// by hand through this handle or its clones, the same tokio task, or the same thread for blocking calls
    /// outside of one. (The future given to `block_on` is no tokio task: there, use `synchronize`.)
    pub fn reentrant(mut self) -> Self {
        self.options.reentrant = true;
        self
    }

    /// The store keeps the lock at least this long after the grant, also when it is released earlier.
    pub(crate) fn at_least(mut self, at_least: Duration) -> Self {
        self.options.at_least = at_least;
        self
    }

    /// The client to use and the complete name.
    fn resolve(&self) -> Result<(Client, Name), LockError> {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => Client::in_force()?,
        };
        client.member().check()?;
        let name = match &self.name {
            Named::Complete(name, _) => name.clone(),
            Named::Verbatim(name) => Name::verbatim(client.namespace(), name)?,
        };
        Ok((client, name))
    }

    /// What this handle last obtained, if it still holds.
    fn holding(&self) -> Option<Arc<Hold>> {
        lock(&self.last)
            .hold
            .upgrade()
            .filter(|hold| hold.is_valid())
    }
}
