//! [`MultiLock`]: several mutexes, all or none. The store knows only the mutexes; [`take`] has the algorithm.

mod guard;
mod manage;
pub(crate) mod take;

pub use guard::MultiGuard;

use crate::base::error::LockError;
use crate::base::name::Name;
use crate::base::wait::block_on;
use crate::caller::Caller;
use crate::locks::client::Client;
use crate::locks::handle::{Handle, Options, option_methods, unless_taken};
use crate::queue::Patience;

/// Several locks that are taken together, all or none.
///
/// The names may be given in any order, and more than once. Each name is a [`Mutex`](crate::Mutex) of its own, which
/// other callers may also take alone.
///
/// A call tries all locks at once: if they are free, this is one round trip to the store. If a lock is busy, the call
/// waits in the queue of that lock. While it waits, it keeps the locks whose names sort before the busy lock, and
/// releases the other locks. So no call waits for a lock while it holds a lock with a greater name. Therefore two calls
/// cannot wait for each other, in whatever order they give the names, and no call starves.
///
/// A handle costs nothing until it is used. Set the options before use: their methods take and return the handle.
/// `block` is for all locks together.
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
    /// The locks called `names`, of the client that is in force where the locks are used: see [`Client::multi`].
    #[track_caller]
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::of(None, names)
    }

    #[track_caller]
    fn of<N: Into<String>>(client: Option<&Client>, names: impl IntoIterator<Item = N>) -> Self {
        let mut handles = Vec::new();
        // Not a closure: `#[track_caller]` wouldn't find the caller in it.
        for name in names {
            handles.push(Handle::new(client.cloned(), name));
        }
        Self {
            handles,
            options: Options::default(),
        }
    }

    /// Takes all the locks. `block` limits the whole wait for all the locks together.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] when `block` is over; the error names a lock that was not obtained.
    /// [`LockError::TooManyAttempts`] after `retries`, [`LockError::AlreadyHeld`] inside a protected call of one of
    /// the locks, [`LockError::InvalidName`] if there are no names, [`LockError::Unavailable`] when the store does
    /// not answer, and the other errors that [`LockError`] describes. If the call has taken some of the locks, it
    /// releases these before it returns an error. It waits for the store to confirm the releases, for a second at most (or
    /// `store_timeout`, if that is shorter). After that time the releases continue in the background, as after a
    /// guard is dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the call leaves the queues. It releases the locks that it got, in the background.
    pub async fn lock(&self) -> Result<MultiGuard, LockError> {
        self.take(None, false).await
    }

    /// Like [`lock`](Self::lock), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), and [`LockError::Deadlock`] if only a task of this thread could release
    /// one of the locks.
    pub fn blocking_lock(&self) -> Result<MultiGuard, LockError> {
        block_on(self.take(None, true))
    }

    /// Takes all the locks if they are free, without waiting. Returns `None` if another caller holds one of the locks,
    /// or if this task holds one and the handle is not [`reentrant`](Self::reentrant). If the call has taken some of the
    /// locks, it releases these before it returns `None`, as [`lock`](Self::lock) does before an error.
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), except the timeouts, `AlreadyHeld` and `Deadlock`.
    ///
    /// # Cancel safety
    ///
    /// Like [`lock`](Self::lock).
    pub async fn try_lock(&self) -> Result<Option<MultiGuard>, LockError> {
        unless_taken(self.take(Some(Patience::NONE), false).await)
    }

    /// Like [`try_lock`](Self::try_lock), but blocks the thread for one round trip to the store. If the call does not
    /// get the locks, it takes two round trips.
    ///
    /// # Errors
    ///
    /// The errors of [`try_lock`](Self::try_lock).
    pub fn blocking_try_lock(&self) -> Result<Option<MultiGuard>, LockError> {
        unless_taken(block_on(self.take(Some(Patience::NONE), true)))
    }

    /// Takes all the locks, runs `body` with the guard, and releases the locks, even if `body` panics or is dropped.
    ///
    /// In `body`, a call of the same task for the same locks re-enters if its handle is
    /// [`reentrant`](Self::reentrant). When one of the locks is lost, `body` is dropped at its next await. Write
    /// `async |guard| …`; a closure `|guard| async { … }` cannot borrow the guard.
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the locks.
    pub async fn synchronize<T>(
        &self,
        body: impl AsyncFnOnce(&MultiGuard) -> T,
    ) -> Result<T, LockError> {
        self.lock().await?.run_body(body).await
    }

    /// Like [`synchronize`](Self::synchronize), but blocks the thread. If a lock is lost, `body` still runs to its end,
    /// and its value is returned. Call `guard.check()` to notice the loss.
    ///
    /// # Errors
    ///
    /// The errors of [`blocking_lock`](Self::blocking_lock).
    pub fn blocking_synchronize<T>(
        &self,
        body: impl FnOnce(&MultiGuard) -> T,
    ) -> Result<T, LockError> {
        Ok(self.blocking_lock()?.run_blocking_body(body))
    }

    async fn take(
        &self,
        patience: Option<Patience>,
        blocking: bool,
    ) -> Result<MultiGuard, LockError> {
        let caller = Caller::current(blocking);
        let targets = self.handles.iter().map(|handle| handle.resolve(&caller));
        let targets = targets.collect::<Result<_, _>>()?;
        take::take(caller, targets, &self.options, patience).await
    }
}

option_methods!(MultiLock, options);

/// Sorts `items` by name, and keeps one item for each name; an error if there are no items.
fn in_order<T>(mut items: Vec<T>, name: impl Fn(&T) -> &Name) -> Result<Vec<T>, LockError> {
    if items.is_empty() {
        let reason = "there is none: give at least one";
        return Err(LockError::invalid_name("", reason));
    }
    items.sort_by(|one, other| name(one).as_str().cmp(name(other).as_str()));
    items.dedup_by(|one, other| name(one) == name(other));
    Ok(items)
}
