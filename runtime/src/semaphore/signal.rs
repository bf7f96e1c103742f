//! Tokens: permits that are handed out once.

use super::Semaphore;
use crate::error::LockError;
use crate::store::{Op, Signal, Ticket};
use crate::wait::block_on;

/// The longest token, in bytes.
const MAX_BYTES: usize = 64 * 1024;

impl Semaphore {
    /// Adds a token: one more permit, handed out once, to an acquire of one permit, before the plain permits and in
    /// order of signalling. Its holder finds it in [`Permit::token`](super::Permit::token). It may be any text of up to
    /// 64 KiB; equal ones are two.
    ///
    /// Released or dropped with its permit, it is used up. When its holder panics, loses the lease or is broken with
    /// [`force_unlock`](Self::force_unlock), or when the acquire is cancelled, it goes to the next, in its place.
    /// Tokens wait for as long as the name is in use, and a day after that. The number of permits is not compared:
    /// whoever acquires one permit of the name gets the token.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidOption`] for a longer token. [`LockError::Unavailable`]: then it may or may not be added.
    /// [`LockError::Unsupported`] on a quorum, whose servers cannot hand it out just once. [`LockError::ForeignKey`], and
    /// those of an unusable client or name.
    ///
    /// # Cancel safety
    ///
    /// It is added, whether or not the future completes.
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
        self.check()?;
        let token = token.into();
        if token.len() > MAX_BYTES {
            return Err(LockError::InvalidOption {
                option: "token",
                reason: "longer than 64 KiB: signal a key to what is long",
            });
        }
        let op = Op::Signal {
            ticket: Ticket::random(),
            signal: Signal::Token(token.into()),
        };
        // Refused means that an earlier copy of it was executed.
        self.handle.ask(&op)?.wait().await.map(drop)
    }

    /// As [`signal`](Self::signal), blocking the thread.
    ///
    /// # Errors
    ///
    /// Those of [`signal`](Self::signal).
    pub fn blocking_signal(&self, token: impl Into<String>) -> Result<(), LockError> {
        block_on(self.signal(token))
    }
}
