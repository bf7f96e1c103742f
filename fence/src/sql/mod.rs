//! SQL databases. One statement for each name raises its token and locks its row until the transaction ends, so that no
//! later holder can write in between, and returns the greatest token. If the lock itself is in the database, a function
//! there does this, which also asks whether the lock is held.

#![allow(dead_code, unused_macros, reason = "each feature uses some of this")]

#[cfg(feature = "rusqlite")]
mod blocking_sqlite;
mod pools;
#[cfg(feature = "tokio-postgres")]
mod postgres;

use crate::dialect::Dialect;
use crate::error::{FenceError, Source};
use crate::fence::Resource;
use crate::token::Token;

/// A transaction whose database has the table `auto_mutex_fence`, while the locks are in another PostgreSQL.
///
/// If the locks are in PostgreSQL, [`fence`](crate::Fence::fence) expects them in the database of the transaction, and
/// needs no table. If they are not, use the table, as with the other stores:
///
/// ```
/// # #[cfg(feature = "sqlx-0_8-postgres")]
/// async fn change(
///     guard: &auto_mutex::MutexGuard,
///     tx: &mut sqlx::Transaction<'_, sqlx::Postgres>,
/// ) -> Result<(), auto_mutex_fence::FenceError> {
///     use auto_mutex_fence::{Fence, Table};
///     guard.fence(Table(tx)).await
/// }
/// ```
///
/// All writers must do it in the same way.
#[derive(Clone, Copy, Debug)]
pub struct Table<R>(pub R);

impl<R: Resource> Resource for Table<R> {
    type Output = R::Output;

    fn check(self, mut tokens: Vec<Token>) -> Self::Output {
        tokens.iter_mut().for_each(|token| token.ticket = None);
        self.0.check(tokens)
    }
}

/// Not `WHERE token <= …`: that would return nothing to a stale holder, who is to learn the greatest token.
const POSTGRES: &str = "INSERT INTO auto_mutex_fence AS fence (name, token) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET token = GREATEST(fence.token, EXCLUDED.token) RETURNING token";

const IN_STORE: &str = "SELECT auto_mutex.fence($1, $2, $3::pg_catalog.text::pg_catalog.uuid)";

/// Not `LAST_INSERT_ID(…)`, which would return the token at once: that number is the program's.
const MYSQL: &str = "INSERT INTO auto_mutex_fence (name, token) VALUES (?, ?) \
     ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))";

/// MySQL lacks `RETURNING`. It locks the row, because the snapshot of a plain read may be older.
const MYSQL_GREATEST: &str = "SELECT token FROM auto_mutex_fence WHERE name = ? FOR UPDATE";

/// Outside of a transaction the savepoint is gone at once: error 1305. (Only MariaDB has `@@in_transaction`.)
const MYSQL_BEGUN: &str = "SAVEPOINT auto_mutex_fence; RELEASE SAVEPOINT auto_mutex_fence";

const SQLITE: &str = "INSERT INTO auto_mutex_fence (name, token) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET token = max(token, excluded.token) RETURNING token";

const GRANT: &str = "run `GRANT SELECT, INSERT, UPDATE ON auto_mutex_fence TO` this role";

const GRANT_IN_STORE: &str = "run what `auto-mutex schema --postgres --only-rights --grant ROLE` prints \
     (`GRANT USAGE ON SCHEMA auto_mutex` and more)";

fn of_postgres(token: &Token, state: &str, newest: Option<u64>, source: Source) -> FenceError {
    let dialect = Dialect::Postgres;
    match (state, newest, token.ticket.is_some()) {
        ("42P01", ..) => FenceError::MissingTable { dialect, source },
        // A serialization failure, a deadlock, `lock_timeout`.
        ("40001" | "40P01" | "55P03", ..) => FenceError::Conflict { source },
        // PostgreSQL itself has the lock, and refuses this token.
        ("MX001", Some(newest), _) => token.stale(newest),
        // There is no schema, no such function in it, or no such lock.
        ("3F000" | "42883" | "MX002", _, true) => {
            let name = token.name().to_owned();
            FenceError::Elsewhere { name, source }
        }
        ("42501", _, in_store) => {
            let grant = if in_store { GRANT_IN_STORE } else { GRANT };
            FenceError::Forbidden { grant, source }
        }
        _ => FenceError::Resource { source },
    }
}

fn of_mysql(number: u16, source: Source) -> FenceError {
    let dialect = Dialect::Mysql;
    match number {
        1146 => FenceError::MissingTable { dialect, source },
        1142 => FenceError::Forbidden {
            grant: GRANT,
            source,
        },
        1305 => FenceError::NoTransaction,
        // A row that is newer than the snapshot (MariaDB), a timeout, a deadlock.
        1020 | 1205 | 1213 => FenceError::Conflict { source },
        _ => FenceError::Resource { source },
    }
}

fn of_sqlite(code: i32, message: &str, source: Source) -> FenceError {
    let dialect = Dialect::Sqlite;
    // The low byte of an extended code is the primary one: `SQLITE_BUSY`, `SQLITE_LOCKED`, `SQLITE_ERROR`.
    match code & 0xff {
        5 | 6 => FenceError::Conflict { source },
        1 if message.contains("no such table") => FenceError::MissingTable { dialect, source },
        _ => FenceError::Resource { source },
    }
}
