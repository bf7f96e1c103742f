//! [`FenceError`].

use std::error::Error;

use thiserror::Error;

use crate::dialect::Dialect;

type Source = Box<dyn Error + Send + Sync>;

/// Why a write is not fenced. It must not be made: roll the transaction back, as dropping it does.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FenceError {
    /// A later holder of the lock has written: this process has lost the lock. Don't try again.
    #[error(
        "a later holder of `{name}` has written: our fencing token is {ours}, and the newest is {newest}"
    )]
    Stale {
        /// The complete name of the lock.
        name: String,
        /// The token of this process.
        ours: u64,
        /// The greatest token that the resource has seen.
        newest: u64,
    },
    /// The database has no table `auto_mutex_fence`.
    #[error(
        "the table `auto_mutex_fence` is missing: create it with `auto-mutex fence --dialect {dialect}`"
    )]
    MissingTable {
        /// The kind of the database.
        dialect: Dialect,
        /// The error of the database.
        source: Source,
    },
    /// Other transactions were in the way: this one has not seen their writes, or a deadlock or a timeout ended its
    /// wait. Run the whole transaction again.
    #[error("other transactions were in the way; run the transaction again")]
    Conflict {
        /// The error of the database.
        source: Source,
    },
    /// The connection is not in a transaction, so it would not hold the row until the write.
    #[error("the connection is not in a transaction: fence the transaction that writes")]
    NoTransaction,
    /// There is no token, or one that no lock has.
    #[error("{reason}")]
    Invalid {
        /// What is wrong.
        reason: &'static str,
    },
    /// The store has no conditional puts, or no metadata.
    #[error("the store of the object has no conditional puts, or no metadata")]
    Unsupported {
        /// The error of the store.
        source: Source,
    },
    /// The resource did not answer, or refused the check for another reason.
    #[error("the fencing token could not be checked")]
    Resource {
        /// The error of the resource.
        source: Source,
    },
}
