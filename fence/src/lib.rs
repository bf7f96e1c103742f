//! Writes that a stale holder of a lock cannot make.
//!
//! A lock with a lease can't stop a process that was suspended, lost its lock, and now sends the statement that it was
//! about to send. The database can, if it remembers the greatest *fencing token* it has seen: each grant of a lock has a
//! greater one than all earlier grants. [`Fence::fence`] does this in one statement inside your transaction:
//!
//! ```ignore
//! use auto_mutex_fence::Fence;
//!
//! let mut tx = pool.begin().await?;
//! guard.fence(&mut tx).await?; // Err(FenceError::Stale { .. }) if a later holder has written
//! sqlx::query("UPDATE …").execute(&mut *tx).await?;
//! tx.commit().await?;
//! ```

mod dialect;
mod error;
mod fence;
#[cfg(feature = "object_store")]
mod object_store;
#[cfg(feature = "prove")]
mod prove;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(
    feature = "rusqlite",
    feature = "sqlx-mysql",
    feature = "sqlx-postgres",
    feature = "sqlx-sqlite",
    feature = "tokio-postgres"
))]
mod sql;
mod token;

pub use dialect::Dialect;
pub use error::FenceError;
pub use fence::{Fence, FenceFuture, Resource};
#[cfg(feature = "object_store")]
pub use object_store::FencedPut;
#[cfg(feature = "prove")]
pub use prove::{Proof, ProveError, prove, prove_within};
#[cfg(feature = "redis")]
pub use redis::FencedScript;
pub use token::{Token, Tokens};
