//! [`FenceError`].

use std::error::Error;

use auto_mutex_core::LockError;
use thiserror::Error;

use crate::dialect::Dialect;

pub(crate) type Source = Box<dyn Error + Send + Sync>;

/// Why a write is not fenced. It must not be made: roll the transaction back, as dropping it does.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FenceError {
    /// This process has lost the lock: a later holder has written; or, if PostgreSQL itself has the lock, it has
    /// granted it again, or the lease has ended. Don't try again.
    #[error("{}", lost(name, *ours, *newest))]
    Stale {
        /// The complete name of the lock.
        name: String,
        /// The token of this process.
        ours: u64,
        /// The greatest token that the resource has seen. That of this process, if only its lease has ended.
        newest: u64,
    },
    /// This process knows that it has lost the lock: the guard's `check()` has the same error. The resource was not
    /// asked. Don't try again.
    #[error(transparent)]
    Lost {
        /// The guard's error.
        source: LockError,
    },
    /// The locks are in PostgreSQL, but in another database than the transaction: fence a `Table` then. Or the
    /// server has lost its locks in a crash.
    #[error(
        "the lock `{name}` is not in this database, or its server has lost it. If the locks are in another database, create \
         the table `auto_mutex_fence` in this one, and fence `Table(&mut transaction)`"
    )]
    Elsewhere {
        /// The complete name of the lock.
        name: String,
        /// The error of the database.
        source: Source,
    },
    /// The transaction's role may not use the table, or the schema `auto_mutex` of its database, which has the lock.
    #[error("this role may not check the fencing token: an administrator has to {grant}")]
    Forbidden {
        /// What gives the role the rights that it needs.
        grant: &'static str,
        /// The error of the database.
        source: Source,
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
    #[error("the check conflicted with another transaction; run the whole transaction again")]
    Conflict {
        /// The error of the database.
        source: Source,
    },
    /// The connection is not in a transaction, so it would not hold the row until the write. Perhaps the database has
    /// ended the transaction, as after a deadlock or by a statement that commits.
    #[error("the connection is not in a transaction: fence the transaction that writes")]
    NoTransaction,
    /// A read lock, or a permit beside others, has no fencing token, because several holders may write.
    #[error(
        "`{name}` is shared with other holders, so it has no fencing token: fence with the guard of a mutex that protects what is \
         written"
    )]
    Shared {
        /// The name of the lock.
        name: String,
    },
    /// There is no token, one that no lock has, or two of one lock; or an object's contents need the token.
    #[error("{reason}")]
    Invalid {
        /// What is wrong.
        reason: &'static str,
    },
    /// The store has no conditional puts, or no metadata.
    #[error("the object store does not support conditional puts or metadata, which fencing needs")]
    Unsupported {
        /// The error of the store.
        source: Source,
    },
    /// The user's Lua script failed, or Redis did not run it. The text is that of Redis.
    #[error(transparent)]
    Script {
        /// The error of Redis.
        source: Source,
    },
    /// The resource did not answer, or refused the check for another reason.
    #[error("the fencing token could not be checked")]
    Resource {
        /// The error of the resource.
        source: Source,
    },
}

fn lost(name: &str, ours: u64, newest: u64) -> String {
    match newest > ours {
        true => format!(
            "a later holder of `{name}` has written: our fencing token is {ours}, and the newest is {newest}"
        ),
        false => format!(
            "the lease of `{name}` has ended: nobody holds it with our fencing token {ours}"
        ),
    }
}
