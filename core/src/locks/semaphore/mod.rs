//! [`Semaphore`]: limits the number of holders in the whole cluster.

mod permit;

pub use permit::Permit;

use crate::base::error::{LockError, LockKind};
use crate::base::wait::block_on;
use crate::locks::client::Client;
use crate::locks::handle::{Handle, option_methods, query_methods};
use crate::store::{NameRecord, Op, RW_LOCK, RandomId, Reply, Share, Signal, Ticket};

const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// A fixed number of permits for the whole cluster.
///
/// Waiters are served in order of arrival: a request for few permits does not overtake an earlier one for many. If
/// users of a name give several numbers of permits, as while a new version of a program is rolled out, the smallest of
/// those who hold or wait counts (on a quorum, of those who hold), and what is already held stays. If a call asks for
/// more permits than the smallest number, it fails with [`LockError::PermitsMismatch`], and so does a call whose number
/// is smaller than what somebody holds or waits for.
///
/// A [signalled](Self::signal) token is an extra permit that only one call gets. A semaphore with zero permits is a
/// queue of tokens.
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
    /// A semaphore called `name` with `permits` permits, in this client's namespace: see [`mutex`](Self::mutex) for
    /// names.
    #[track_caller]
    pub fn semaphore(&self, name: impl Into<String>, permits: u32) -> Semaphore {
        let handle = Handle::new(Some(self.clone()), name);
        Semaphore { handle, permits }
    }
}

impl Semaphore {
    /// A semaphore called `name` with `permits` permits, of the client in force where a permit is acquired: see
    /// [`Client::semaphore`].
    #[track_caller]
    pub fn new(name: impl Into<String>, permits: u32) -> Self {
        let handle = Handle::new(None, name);
        Self { handle, permits }
    }

    /// Takes a permit, waiting up to `block`.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] after `block`, [`LockError::TooManyAttempts`] after `retries`,
    /// [`LockError::PermitsMismatch`] if the numbers of permits [do not go together](Self), [`LockError::WrongKind`] if
    /// the name is in use as another kind of lock, [`LockError::InvalidOption`] if the semaphore has 2^30 permits or
    /// more, [`LockError::Unavailable`] if the store does not answer, and other variants of [`LockError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future makes the call leave the queue, or releases what it was already granted.
    pub async fn acquire(&self) -> Result<Permit, LockError> {
        self.acquire_many(1).await
    }

    /// Like [`acquire`](Self::acquire), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), and [`LockError::Deadlock`] if only a task of this thread could
    /// release a permit.
    pub fn blocking_acquire(&self) -> Result<Permit, LockError> {
        self.blocking_acquire_many(1)
    }

    /// Takes `n` permits, all or none, waiting up to `block`.
    ///
    /// # Errors
    ///
    /// Those of [`acquire`](Self::acquire), and [`LockError::InvalidOption`] if `n` is zero or more than the semaphore
    /// has.
    ///
    /// # Cancel safety
    ///
    /// Like [`acquire`](Self::acquire).
    pub async fn acquire_many(&self, n: u32) -> Result<Permit, LockError> {
        self.handle.take(share(n, self.permits)?, false).await
    }

    /// Like [`acquire_many`](Self::acquire_many), but blocks the thread.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire_many`](Self::acquire_many) and [`blocking_acquire`](Self::blocking_acquire).
    pub fn blocking_acquire_many(&self, n: u32) -> Result<Permit, LockError> {
        self.handle.blocking_take(share(n, self.permits)?, false)
    }

    /// Takes a permit if one is free and no other caller waits for it. Otherwise returns `None`.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), except the timeouts.
    ///
    /// # Cancel safety
    ///
    /// Like [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<Option<Permit>, LockError> {
        self.try_acquire_many(1).await
    }

    /// Like [`try_acquire`](Self::try_acquire), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_acquire`](Self::try_acquire).
    pub fn blocking_try_acquire(&self) -> Result<Option<Permit>, LockError> {
        self.blocking_try_acquire_many(1)
    }

    /// Takes `n` permits if they are free and no other caller waits for them. Otherwise returns `None`.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire_many`](Self::acquire_many), except the timeouts.
    ///
    /// # Cancel safety
    ///
    /// Like [`acquire`](Self::acquire).
    pub async fn try_acquire_many(&self, n: u32) -> Result<Option<Permit>, LockError> {
        self.handle.try_take(share(n, self.permits)?).await
    }

    /// Like [`try_acquire_many`](Self::try_acquire_many), but blocks the thread for one round trip to the store.
    ///
    /// # Errors
    ///
    /// The errors of [`try_acquire_many`](Self::try_acquire_many).
    pub fn blocking_try_acquire_many(&self, n: u32) -> Result<Option<Permit>, LockError> {
        self.handle.blocking_try_take(share(n, self.permits)?)
    }

    /// Takes a permit, runs `body` with the permit, and releases the permit, even if `body` panics or is dropped.
    ///
    /// When the permit is lost, `body` is dropped at its next await. Write `async |permit| …`; a closure
    /// `|permit| async { … }` cannot borrow the permit.
    ///
    /// # Errors
    ///
    /// The errors of [`acquire`](Self::acquire), and [`LockError::Lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the permit.
    pub async fn synchronize<T>(
        &self,
        body: impl AsyncFnOnce(&Permit) -> T,
    ) -> Result<T, LockError> {
        self.acquire().await?.run_body(body).await
    }

    /// Like [`synchronize`](Self::synchronize), but blocks the thread. After a loss of the permit, `body` still runs to
    /// its end, and its value is returned. Call `permit.check()` to notice the loss.
    ///
    /// # Errors
    ///
    /// The errors of [`blocking_acquire`](Self::blocking_acquire).
    pub fn blocking_synchronize<T>(&self, body: impl FnOnce(&Permit) -> T) -> Result<T, LockError> {
        Ok(self.blocking_acquire()?.run_blocking_body(body))
    }

    /// Adds a token: an extra permit that only one call gets, which must ask for a single permit. Tokens are granted
    /// before plain permits, in the order of signalling. The holder reads its token from
    /// [`Permit::token`](Permit::token). A token is any text of up to 64 KiB; two equal texts are two tokens.
    ///
    /// A token is used up when its permit is released or dropped. If its holder panics or loses its lease, if
    /// [`force_unlock`](Self::force_unlock) takes the permit away, or if the acquire is cancelled, the token goes to
    /// the next waiter, and keeps its place among the tokens. Tokens are kept while the name is in use, and for a day
    /// afterwards.
    ///
    /// Any call for one permit of the name may get the token, even through a handle with another number of permits.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidOption`] for a longer token. [`LockError::Unsupported`] for a quorum, whose servers cannot
    /// ensure that only one call gets a token. After [`LockError::Unavailable`], the token may or may not have been
    /// added. Also [`LockError::ForeignKey`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// The token is added, whether or not the future completes.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let client = auto_mutex::Client::connect("memory://")?;
    /// let jobs = client.semaphore("jobs", 0);
    /// jobs.signal("resize image 7").await?;
    /// let permit = jobs.acquire().await?;
    /// assert_eq!(permit.token(), Some("resize image 7"));
    /// assert_eq!(permit.release().await?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn signal(&self, token: impl Into<String>) -> Result<(), LockError> {
        check(self.permits)?;
        let token = token.into();
        if token.len() > MAX_TOKEN_BYTES {
            let reason = "longer than 64 KiB: store the data elsewhere, and signal its key";
            return Err(LockError::invalid("token", reason));
        }
        let op = Op::Signal {
            ticket: Ticket::random(),
            signal: Signal::Token(token.into()),
        };
        // `Reply::Refused` means that the store has executed an earlier copy of the request.
        self.handle.ask(&op)?.wait().await.map(drop)
    }

    /// Like [`signal`](Self::signal), but blocks the thread. The errors are the same.
    pub fn blocking_signal(&self, token: impl Into<String>) -> Result<(), LockError> {
        block_on(self.signal(token))
    }

    /// Asks the store how many permits and tokens are free. The number may have changed since.
    ///
    /// # Errors
    ///
    /// [`LockError::WrongKind`] if the name is in use as another kind of lock, [`LockError::PermitsMismatch`] if one of
    /// the two numbers of permits is 0, [`LockError::Unavailable`], [`LockError::ForeignKey`], and the errors of an
    /// unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn available(&self) -> Result<u32, LockError> {
        let record = self.inspect().await?;
        let found = record.capacity.unwrap_or(self.permits);
        let kind = LockKind::of(found, record.takes());
        let is_other = kind != LockKind::Semaphore || self.permits.min(found) == 0;
        if found != self.permits && is_other {
            return Err(LockError::mismatch(
                self.handle.complete_name()?,
                (LockKind::Semaphore, self.permits),
                (kind, found),
            ));
        }
        Ok(free(&record, self.permits.min(found)))
    }

    /// Like [`available`](Self::available), but blocks the thread. The errors are the same.
    pub fn blocking_available(&self) -> Result<u32, LockError> {
        block_on(self.available())
    }

    /// Asks the store whether the semaphore exists: whether it has tokens, or was used and has not been deleted since.
    /// The store forgets a semaphore ten minutes or more after its last holder, waiter and token.
    ///
    /// # Errors
    ///
    /// [`LockError::Unavailable`], [`LockError::ForeignKey`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn exists(&self) -> Result<bool, LockError> {
        Ok(self.inspect().await?.exists)
    }

    /// Like [`exists`](Self::exists), but blocks the thread. The errors are the same.
    pub fn blocking_exists(&self) -> Result<bool, LockError> {
        block_on(self.exists())
    }

    /// Deletes the semaphore and its tokens. Returns `false` if there was nothing to delete.
    ///
    /// # Errors
    ///
    /// [`LockError::InUse`] while a caller holds or waits for a permit. After [`LockError::Unavailable`], the semaphore
    /// may or may not have been deleted. Also [`LockError::ForeignKey`], and the errors of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// Unless it is in use, the semaphore is deleted, whether or not the future completes.
    pub async fn delete(&self) -> Result<bool, LockError> {
        check(self.permits)?;
        match self.handle.ask(&Op::Delete)?.wait().await? {
            Reply::InUse { holders, waiters } => {
                let name = self.handle.complete_name()?;
                Err(LockError::used_by(name, holders, waiters))
            }
            reply => Ok(reply.count() > 0),
        }
    }

    /// Like [`delete`](Self::delete), but blocks the thread. The errors are the same.
    pub fn blocking_delete(&self) -> Result<bool, LockError> {
        block_on(self.delete())
    }

    async fn inspect(&self) -> Result<NameRecord, LockError> {
        check(self.permits)?;
        self.handle.inspect().await
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
    if permits >= RW_LOCK {
        let reason = "a semaphore has less than 2^30 permits";
        return Err(LockError::invalid("permits", reason));
    }
    Ok(())
}

fn free(record: &NameRecord, permits: u32) -> u32 {
    let left = u64::from(permits).saturating_sub(record.used);
    u32::try_from(left.saturating_add(record.signals)).unwrap_or(u32::MAX)
}

option_methods!(Semaphore, handle.options);
query_methods!(Semaphore);
