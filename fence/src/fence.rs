//! [`Fence`]: the call that users make, for all that has tokens and all resources that check them.

use std::future::Future;
use std::pin::Pin;

use crate::error::FenceError;
use crate::token::{Token, Tokens, in_order};

/// The result of [`Fence::fence`] for an async resource.
pub type FenceFuture<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, FenceError>> + Send + 'a>>;

/// Fences writes: for guards and for all else that has [`Tokens`].
pub trait Fence: Tokens {
    /// Checks the fencing tokens in `resource`, which refuses them from now on to all earlier holders.
    ///
    /// The result is a [`FenceFuture`] for an async resource, and a `Result` for a blocking one. If it is an error,
    /// write nothing: roll the transaction back, as dropping it does.
    ///
    /// # Errors
    ///
    /// [`FenceError::Stale`] if a later holder of the lock has written; [`FenceError::Lost`] if this process knows that
    /// it has lost the lock. See [`FenceError`] for the others.
    ///
    /// # Again before the commit
    ///
    /// A database can end the transaction after this call, as by a deadlock, or by DDL in MySQL. A savepoint that is
    /// rolled back undoes a fence in it. A second call, right before the commit, notices the one and makes up for the
    /// other. The guide's [table](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/fencing/) says when this is
    /// needed.
    ///
    /// # Beside the lock
    ///
    /// With the locks in the PostgreSQL that the transaction writes to (feature `postgres` of auto-mutex), this is the
    /// whole program, without a table or a migration for the fence. A holder is refused as soon as its lease has ended,
    /// even if nobody else has written:
    ///
    /// ```no_run
    /// # #[cfg(feature = "sqlx-0_8-postgres")]
    /// # mod program {
    /// use auto_mutex::auto_mutex;
    /// use auto_mutex_fence::Fence;
    /// use sqlx::PgPool;
    ///
    /// #[auto_mutex(key = account, guard = lock)]
    /// async fn pay(db: &PgPool, account: i64, amount: i64) -> Result<(), Box<dyn std::error::Error>> {
    ///     let mut tx = db.begin().await?;
    ///     lock.fence(&mut tx).await?; // before the first read
    ///     let read = "SELECT balance FROM accounts WHERE id = $1";
    ///     let balance: i64 = sqlx::query_scalar(read).bind(account).fetch_one(&mut *tx).await?;
    ///     if balance >= amount {
    ///         let write = "UPDATE accounts SET balance = balance - $2 WHERE id = $1";
    ///         sqlx::query(write).bind(account).bind(amount).execute(&mut *tx).await?;
    ///     }
    ///     tx.commit().await?;
    ///     Ok(())
    /// }
    ///
    /// pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
    ///     let url = "postgres://app@db.internal/bank";
    ///     auto_mutex::setup_async(url).await?;
    ///     let db = PgPool::connect(url).await?;
    ///     auto_mutex_fence::ready(&mut db.begin().await?).await?;
    ///     pay(&db, 7, 100).await
    /// }
    /// # }
    /// ```
    fn fence<R: Resource>(&self, resource: R) -> R::Output {
        match in_order(self) {
            Ok(tokens) => resource.check(tokens),
            Err(error) => error.into(),
        }
    }
}

impl<T: Tokens + ?Sized> Fence for T {}

impl<'a, T: Send + 'a> From<FenceError> for FenceFuture<'a, T> {
    fn from(error: FenceError) -> Self {
        Box::pin(std::future::ready(Err(error)))
    }
}

impl<T> From<FenceError> for Result<T, FenceError> {
    fn from(error: FenceError) -> Self {
        Err(error)
    }
}

/// What can check fencing tokens: the transaction of a database, for example.
pub trait Resource {
    /// A [`FenceFuture`], or a `Result` if the check blocks the thread.
    type Output: From<FenceError>;

    /// Compares each of the tokens with the greatest of its name so far, and keeps it. A resource for which another
    /// write could come between this check and the write must exclude that.
    ///
    /// [`Fence::fence`] has sorted the tokens by name. There is at least one, each is of another lock, and their
    /// numbers fit into a signed 64-bit column.
    fn check(self, tokens: Vec<Token>) -> Self::Output;
}
