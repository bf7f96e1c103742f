//! [`ready`]: whether fences will work, before anything depends on one.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use auto_mutex_core::{LockError, Mutex};

use crate::{Fence, FenceError, FenceFuture, Resource};

/// For the start of a program: fences a transaction with a lock of its own, so that what is missing shows now and not
/// at the first write.
///
/// Use what the program's writes use: the same role, database and kind of transaction, and [`Table`](crate::Table) if
/// they do. The lock is one of [`client`](https://docs.rs/auto-mutex/latest/auto_mutex/fn.client.html)'s, with a name
/// that nobody else has. Drop the transaction afterwards: nothing is to be committed.
///
/// ```
/// # #[cfg(feature = "sqlx-0_8-postgres")]
/// async fn start(db: &sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
///     auto_mutex::setup_async("redis://locks.internal").await?;
///     auto_mutex_fence::ready(&mut db.begin().await?).await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// [`FenceError::MissingTable`]; [`FenceError::Forbidden`] without rights; [`FenceError::Elsewhere`] if the locks are
/// in another PostgreSQL than the transaction; [`FenceError::NoTransaction`]. [`FenceError::Resource`] if the lock
/// could not be taken, or the database does not answer.
pub async fn ready<'a>(
    transaction: impl Resource<Output = FenceFuture<'a>>,
) -> Result<(), FenceError> {
    let guard = match fresh() {
        Ok(mutex) => mutex.lock().await,
        Err(error) => Err(error),
    };
    guard.map_err(not_locked)?.fence(transaction).await
}

/// As [`ready`], with a driver that blocks the thread.
///
/// ```
/// # #[cfg(feature = "rusqlite")]
/// fn start(db: &mut rusqlite::Connection) -> Result<(), Box<dyn std::error::Error>> {
///     auto_mutex::setup("redis://locks.internal")?;
///     auto_mutex_fence::blocking_ready(&db.transaction()?)?;
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// As [`ready`].
pub fn blocking_ready(
    transaction: impl Resource<Output = Result<(), FenceError>>,
) -> Result<(), FenceError> {
    let guard = fresh().and_then(|mutex| mutex.blocking_lock());
    guard.map_err(not_locked)?.fence(transaction)
}

fn fresh() -> Result<Mutex, LockError> {
    let random = RandomState::new().hash_one(());
    let name = format!("auto_mutex_fence:ready:{random:x}");
    Ok(auto_mutex_core::client()?.mutex(name))
}

fn not_locked(error: LockError) -> FenceError {
    FenceError::Resource {
        source: error.into(),
    }
}
