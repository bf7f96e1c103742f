//! Adds tokens: permits that are granted only once.

use super::{Semaphore, check};
use crate::base::error::LockError;
use crate::base::wait::block_on;
use crate::store::{Op, Signal, Ticket};

const MAX_TOKEN_BYTES: usize = 64 * 1024;

impl Semaphore {
    /// Adds a token: an additional permit that only one call gets. The call must ask for one permit. Tokens are granted
    /// before plain permits, in the order in which they were signalled. The holder reads its token from
    /// [`Permit::token`](super::Permit::token). A token is any text of up to 64 KiB; two equal texts are two tokens.
    ///
    /// A token is used up when its permit is released or dropped. The token goes to the next waiter if its holder
    /// panics or loses its lease, if [`force_unlock`](Self::force_unlock) takes the permit away, or if the acquire is
    /// cancelled. Then the token keeps its place in the order of tokens. Tokens are kept while the name is in use, and
    /// for a day after that.
    ///
    /// Any call that acquires one permit of the name may get the token, even a call through a handle that was made with
    /// another number of permits.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidOption`] for a longer token. [`LockError::Unavailable`]: the call may or may not have
    /// added the token. [`LockError::Unsupported`] on a quorum, because its servers cannot make sure that only one
    /// call gets a token. [`LockError::ForeignKey`], and the errors of an unusable client or name.
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
            let reason = "longer than 64 KiB: signal a key to what is long";
            return Err(LockError::invalid("token", reason));
        }
        let op = Op::Signal {
            ticket: Ticket::random(),
            signal: Signal::Token(token.into()),
        };
        // `Reply::Refused`: the store has executed an earlier copy of the request.
        self.handle.ask(&op)?.wait().await.map(drop)
    }

    /// Like [`signal`](Self::signal), but blocks the thread. The errors are the same.
    pub fn blocking_signal(&self, token: impl Into<String>) -> Result<(), LockError> {
        block_on(self.signal(token))
    }
}
