//! SQL databases. One statement for each name raises its token and locks its row until the transaction ends, so that
//! no later holder can write in between, and returns the greatest token. If the lock itself is in the database, a function
//! there does this, which also asks whether the lock is held.

#[cfg(feature = "rusqlite")]
mod blocking_sqlite;
#[cfg(any(
    feature = "sqlx-mysql",
    feature = "sqlx-postgres",
    feature = "sqlx-sqlite"
))]
mod pools;
#[cfg(feature = "tokio-postgres")]
mod postgres;

use std::error::Error;

use crate::dialect::Dialect;
use crate::error::FenceError;
use crate::fence::Resource;
use crate::token::Token;

/// A transaction whose database has the table `auto_mutex_fence`, while the locks are in another PostgreSQL.
///
/// If the locks are in PostgreSQL, [`fence`](crate::Fence::fence) expects them in the database of the transaction, and needs no
/// table. If they are not, use the table, as with the other stores:
///
/// ```
/// # #[cfg(feature = "sqlx-postgres")]
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
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
const POSTGRES: &str = "INSERT INTO auto_mutex_fence AS fence (name, token) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET token = GREATEST(fence.token, EXCLUDED.token) RETURNING token";

#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
const IN_STORE: &str = "SELECT auto_mutex.fence($1, $2, $3::pg_catalog.text::pg_catalog.uuid)";

/// Without `RETURNING`, which MySQL lacks. A `SELECT` would take another round trip, and would have to lock the row, since
/// a snapshot may be older. The result has the insert id, which is 0 if the row is new.
#[cfg(feature = "sqlx-mysql")]
const MYSQL: &str = "INSERT INTO auto_mutex_fence (name, token) VALUES (?, ?) \
     ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(GREATEST(token, VALUES(token)))";

#[cfg(any(feature = "rusqlite", feature = "sqlx-sqlite"))]
const SQLITE: &str = "INSERT INTO auto_mutex_fence (name, token) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET token = max(token, excluded.token) RETURNING token";

#[allow(dead_code, reason = "some databases lack some kinds")]
enum Kind {
    MissingTable,
    Conflict,
    /// PostgreSQL itself has the lock, and refuses this token.
    Stale(u64),
    Elsewhere,
    Forbidden,
    Other,
}

impl Kind {
    fn error(
        self,
        token: &Token,
        dialect: Dialect,
        source: impl Error + Send + Sync + 'static,
    ) -> FenceError {
        let source = Box::new(source);
        match self {
            Self::MissingTable => FenceError::MissingTable { dialect, source },
            Self::Conflict => FenceError::Conflict { source },
            Self::Stale(newest) => token.stale(newest),
            Self::Elsewhere if token.ticket.is_some() => FenceError::Elsewhere {
                name: token.name().to_owned(),
                source,
            },
            Self::Forbidden if token.ticket.is_some() => FenceError::Forbidden { source },
            _ => FenceError::Resource { source },
        }
    }

    #[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
    fn of_postgres(state: &str, detail: Option<&str>) -> Self {
        let newest = detail.and_then(|detail| detail.parse().ok());
        match state {
            "42P01" => Self::MissingTable,
            // A serialization failure, a deadlock, `lock_timeout`.
            "40001" | "40P01" | "55P03" => Self::Conflict,
            "MX001" => newest.map_or(Self::Other, Self::Stale),
            // There is no schema, no such function in it, or no such lock.
            "3F000" | "42883" | "MX002" => Self::Elsewhere,
            "42501" => Self::Forbidden,
            _ => Self::Other,
        }
    }

    #[cfg(feature = "sqlx-mysql")]
    fn of_mysql(number: u16) -> Self {
        match number {
            1146 => Self::MissingTable,
            // A row that is newer than the snapshot (MariaDB), a timeout, a deadlock.
            1020 | 1205 | 1213 => Self::Conflict,
            _ => Self::Other,
        }
    }

    #[cfg(any(feature = "rusqlite", feature = "sqlx-sqlite"))]
    fn of_sqlite(code: i32, message: &str) -> Self {
        // The low byte of an extended code is the primary one: `SQLITE_BUSY`, `SQLITE_LOCKED`, `SQLITE_ERROR`.
        match code & 0xff {
            5 | 6 => Self::Conflict,
            1 if message.contains("no such table") => Self::MissingTable,
            _ => Self::Other,
        }
    }
}
