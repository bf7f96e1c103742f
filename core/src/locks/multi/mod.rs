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
/// The names may be in any order, and repeated. Each is a separate [`Mutex`](crate::Mutex), which others may also take
/// alone.
///
/// A call tries all locks together: if they are free, this is one round trip to the store. If one is busy, the call
/// waits in its queue. Meanwhile it keeps the locks whose names sort before the busy one, and releases the others, so
/// that no call waits for a lock while it holds one with a greater name. Hence such calls cannot deadlock, whatever the
/// order of their names, and none starves.
///
/// A handle costs nothing until it is used. Set the options before use: their methods take and return the handle.
/// `block` applies to all locks together.
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
    /// The locks called `names`, in this client's namespace: see [`mutex`](Self::mutex) for each name.
    #[track_caller]
    pub fn multi<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> MultiLock {
        MultiLock::of(Some(self), names)
    }
}

impl MultiLock {
    /// The locks called `names` of the client in force where they are used: see [`Client::multi`].
    #[track_caller]
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::of(None, names)
    }

    #[track_caller]
    fn of<N: Into<String>>(client: Option<&Client>, names: impl IntoIterator<Item = N>) -> Self {
        let mut handles = Vec::new();
        // Not a closure, in which `#[track_caller]` wouldn't find the caller.
        for name in names {
            handles.push(Handle::new(client.cloned(), name));
        }
        Self {
            handles,
            options: Options::default(),
        }
    }

    /// Takes all the locks. `block` limits the whole wait.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] after `block`, with the name of a lock that was not obtained.
    /// [`LockError::TooManyAttempts`] after `retries`, [`LockError::AlreadyHeld`] inside a protected call of one of the
    /// locks, [`LockError::InvalidName`] if there are no names, [`LockError::Unavailable`] if the store does not
    /// answer, and other variants of [`LockError`]. Before it returns an error, the call releases the locks that it has
    /// taken, and waits for the store to confirm, for up to a second (or `store_timeout`, if shorter). After that time,
    /// the releases continue in the background, as after the drop of a guard.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future makes the call leave the queues, and releases the locks that it has, in the background.
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

    /// Takes all the locks if they are free, without waiting. Returns `None` if another caller holds one of them, or if
    /// this task holds one and the handle is not [`reentrant`](Self::reentrant). Before that, it releases the locks
    /// that it has taken, as [`lock`](Self::lock) does before an error.
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

    /// Like [`try_lock`](Self::try_lock), but blocks the thread, for one round trip to the store, or two if it does not
    /// get the locks.
    ///
    /// # Errors
    ///
    /// The errors of [`try_lock`](Self::try_lock).
    pub fn blocking_try_lock(&self) -> Result<Option<MultiGuard>, LockError> {
        unless_taken(block_on(self.take(Some(Patience::NONE), true)))
    }

    /// Takes all the locks, runs `body` with the guard, and releases the locks, even if `body` panics or is dropped.
    ///
    /// Within `body`, a call of the same task for the same locks re-enters if its handle is
    /// [`reentrant`](Self::reentrant). When one of the locks is lost, `body` is dropped at its next await. Write `async
    /// |guard| …`; a closure `|guard| async { … }` cannot borrow the guard.
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

    /// Like [`synchronize`](Self::synchronize), but blocks the thread. After the loss of a lock, `body` still runs to
    /// its end, and its value is returned. Call `guard.check()` to notice the loss.
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

/// Sorts `items` by name, and keeps one per name. Fails if there are none.
fn in_order<T>(mut items: Vec<T>, name: impl Fn(&T) -> &Name) -> Result<Vec<T>, LockError> {
    if items.is_empty() {
        let reason = "there is none: give at least one";
        return Err(LockError::invalid_name("", reason));
    }
    items.sort_by(|one, other| name(one).as_str().cmp(name(other).as_str()));
    items.dedup_by(|one, other| name(one) == name(other));
    Ok(items)
}
