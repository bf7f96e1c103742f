//! [`Mutex`]: one holder in the whole cluster.

mod ticket;

pub use ticket::Ticket;

use crate::base::duration::{IntoDuration, refreshed};
use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::locks::client::Client;
use crate::locks::handle::{Handle, Holding, owned};
use crate::locks::handle::{guard_methods, option_methods, query_methods, retain_method};
use crate::locks::handle::{single_guard_methods, unlock_methods};
use crate::store::Share;

/// A lock with at most one holder at a time in the whole cluster.
///
/// A handle costs nothing until it is used. Set the options before use: their methods take and return the handle. A
/// clone has the same options. Methods such as [`unlock`](Self::unlock) treat a handle and its clones as one: `unlock`
/// of a clone releases a lock taken through the original.
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
    /// A mutex called `name`, in this client's namespace, if it has one. A function annotated with the same `name =
    /// "…"` uses the same lock. Without that option, the lock of a function is called `package:Type:function`.
    ///
    /// Colons in `name` separate its parts. In the store, `{`, `}`, `%`, spaces, control characters and non-ASCII
    /// characters are percent-escaped.
    #[track_caller]
    pub fn mutex(&self, name: impl Into<String>) -> Mutex {
        let handle = Handle::new(Some(self.clone()), name);
        Mutex { handle }
    }
}

impl Mutex {
    /// A mutex called `name` of the client in force where it is used: see [`Client::mutex`].
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        let handle = Handle::new(None, name);
        Self { handle }
    }

    /// Sets an owner. All handles of this client with the same owner share the lock, in any task or thread.
    ///
    /// While one of these handles holds the lock, [`lock`](Self::lock) of the others returns immediately. All their
    /// guards share one hold with one fencing token, and the lock is released when the last guard is dropped.
    /// [`refresh`](Self::refresh), [`is_owned`](Self::is_owned) and [`unlock`](Self::unlock) act on the shared hold. A
    /// call that joins the hold does not restart `expire`. A call for another owner waits; inside a protected body that
    /// holds the lock, it returns an error, because it would wait for its own task.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// let order = client.mutex("order").owner("order-17");
    /// let guard = order.blocking_lock()?;
    /// std::thread::scope(|scope| {
    ///     let helper = scope.spawn(|| client.mutex("order").owner("order-17").blocking_try_lock());
    ///     assert!(helper.join().unwrap().is_ok_and(|guard| guard.is_some()));
    /// });
    /// assert!(client.mutex("order").blocking_try_lock()?.is_none());
    /// # drop(guard);
    /// # Ok(()) }
    /// ```
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.handle.owner = Some(owner.into().into());
        self
    }

    /// Takes the lock, waiting up to `block`.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] after `block`, [`LockError::TooManyAttempts`] after `retries`, [`LockError::AlreadyHeld`]
    /// inside a protected call of the same lock, [`LockError::Unavailable`] if the store does not answer, and other
    /// variants of [`LockError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future makes the call leave the queue, or releases what it was already granted.
    pub async fn lock(&self) -> Result<MutexGuard, LockError> {
        self.handle.take(Share::MUTEX, false).await
    }

    /// Like [`lock`](Self::lock), but blocks the thread.
    ///
    /// Do not block the thread of a single-threaded runtime: if another task of that thread holds the lock, it could
    /// never release it. This call returns [`LockError::Deadlock`] in that case.
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), and [`LockError::Deadlock`].
    pub fn blocking_lock(&self) -> Result<MutexGuard, LockError> {
        self.handle.blocking_take(Share::MUTEX, false)
    }

    /// Takes the lock if it is free, without waiting. Returns `None` if another caller holds it, or if this task does
    /// and the handle is not [`reentrant`](Self::reentrant).
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), except the timeouts, `AlreadyHeld` and `Deadlock`.
    ///
    /// # Cancel safety
    ///
    /// Like [`lock`](Self::lock).
    pub async fn try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        self.handle.try_take(Share::MUTEX).await
    }

    /// Like [`try_lock`](Self::try_lock), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_lock`](Self::try_lock).
    pub fn blocking_try_lock(&self) -> Result<Option<MutexGuard>, LockError> {
        self.handle.blocking_try_take(Share::MUTEX)
    }

    /// Takes the lock, runs `body` with the guard, and releases the lock, even if `body` panics or is dropped.
    ///
    /// Within `body`, a call of the same task for the same lock re-enters if its handle is
    /// [`reentrant`](Self::reentrant). When the lock is lost, `body` is dropped at its next await. Write `async |guard|
    /// …`; a closure `|guard| async { … }` cannot borrow the guard.
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the lock.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// let token = client.mutex("reports").synchronize(async |guard| guard.fencing_token()).await?;
    /// assert!(token > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn synchronize<T>(
        &self,
        body: impl AsyncFnOnce(&MutexGuard) -> T,
    ) -> Result<T, LockError> {
        self.lock().await?.run_body(body).await
    }

    /// Like [`synchronize`](Self::synchronize), but blocks the thread. After a loss of the lock, `body` still runs to
    /// its end, and its value is returned. Call `guard.check()` to notice the loss.
    ///
    /// # Errors
    ///
    /// The errors of [`blocking_lock`](Self::blocking_lock).
    pub fn blocking_synchronize<T>(
        &self,
        body: impl FnOnce(&MutexGuard) -> T,
    ) -> Result<T, LockError> {
        Ok(self.blocking_lock()?.run_blocking_body(body))
    }

    /// Asks the store whether this handle, one of its clones, or a protected call around this one holds the lock.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The lease may be renewed. Nothing else changes.
    pub async fn is_owned(&self) -> Result<bool, LockError> {
        match self.handle.confirm()? {
            Some(confirmed) => owned(confirmed.wait().await),
            None => Ok(false),
        }
    }

    /// Like [`is_owned`](Self::is_owned), but blocks the thread. The errors are the same.
    pub fn blocking_is_owned(&self) -> Result<bool, LockError> {
        block_on(self.is_owned())
    }

    /// Restarts the `expire` of the lock held by this handle, one of its clones, or a protected call around this one:
    /// see [`MutexGuard::refresh`](MutexGuard::refresh).
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if none of them holds the lock, [`LockError::InvalidOption`] for less than 10 ms,
    /// [`LockError::Unavailable`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// `expire` restarts when the future is first polled, whether or not it completes.
    pub async fn refresh(&self, expire: impl IntoDuration) -> Result<(), LockError> {
        let expire = refreshed(expire)?;
        self.handle.refresh(expire)?.wait().await.map(drop)
    }

    /// Like [`refresh`](Self::refresh), but blocks the thread. The errors are the same.
    pub fn blocking_refresh(&self, expire: impl IntoDuration) -> Result<(), LockError> {
        block_on(self.refresh(expire))
    }

    /// Releases the lock if this handle, one of its clones, or a protected call around this one holds it, even if
    /// several guards share it. Returns whether the lock was held. Afterwards the guards count as lost.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`] if the store does not answer within `store_timeout`; the release is resent until it
    /// does.
    ///
    /// # Cancel safety
    ///
    /// The lock is released, whether or not the future completes.
    pub async fn unlock(&self) -> Result<bool, LockError> {
        match self.handle.unlock()? {
            Some(unlocked) => Ok(unlocked.wait().await?.is_some()),
            None => Ok(false),
        }
    }

    /// Like [`unlock`](Self::unlock), but blocks the thread. The errors are the same.
    pub fn blocking_unlock(&self) -> Result<bool, LockError> {
        block_on(self.unlock())
    }
}

option_methods!(Mutex, handle.options);
retain_method!(Mutex);
query_methods!(Mutex);

/// A held lock. Dropping it releases the lock in the background, from any thread, with or without a runtime.
///
/// A lock with a lease can be lost while its guard exists: if the store was unreachable for a whole lease, if `expire`
/// has ended, or if a program took it away with `force_unlock`. [`is_lost`](Self::is_lost), [`check`](Self::check) and
/// [`lost`](Self::lost) report the loss when the lease ends by the local clock, or earlier. If an action must never
/// happen twice, let the resource that it changes check the [`fencing_token`](Self::fencing_token): in a database with
/// the crate [`auto-mutex-fence`](https://docs.rs/auto-mutex-fence).
#[must_use = "if unused, the lock is released at once"]
pub struct MutexGuard {
    pub(crate) holding: Holding,
}

single_guard_methods!(MutexGuard);
guard_methods!(MutexGuard);
unlock_methods!(MutexGuard);
