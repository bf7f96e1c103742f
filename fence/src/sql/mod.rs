//! SQL databases. One statement for each name raises its token and locks its row until the transaction ends, so that
//! no later holder can write in between, and returns the greatest token.

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

/// Not `WHERE token <= …`: that would return nothing to a stale holder, who is to learn the greatest token.
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
const POSTGRES: &str = "INSERT INTO auto_mutex_fence AS fence (name, token) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET token = GREATEST(fence.token, EXCLUDED.token) RETURNING token";

/// Without `RETURNING`, which MySQL lacks. A `SELECT` would take another round trip, and would have to lock the row, since
/// a snapshot may be older. The result has the insert id, which is 0 if the row is new.
#[cfg(feature = "sqlx-mysql")]
const MYSQL: &str = "INSERT INTO auto_mutex_fence (name, token) VALUES (?, ?) \
     ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(GREATEST(token, VALUES(token)))";

#[cfg(any(feature = "rusqlite", feature = "sqlx-sqlite"))]
const SQLITE: &str = "INSERT INTO auto_mutex_fence (name, token) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET token = max(token, excluded.token) RETURNING token";

enum Kind {
    MissingTable,
    Conflict,
    Other,
}

impl Kind {
    fn error(self, dialect: Dialect, source: impl Error + Send + Sync + 'static) -> FenceError {
        let source = Box::new(source);
        match self {
            Self::MissingTable => FenceError::MissingTable { dialect, source },
            Self::Conflict => FenceError::Conflict { source },
            Self::Other => FenceError::Resource { source },
        }
    }

    #[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
    fn of_postgres(state: &str) -> Self {
        match state {
            "42P01" => Self::MissingTable,
            // A serialization failure, a deadlock, `lock_timeout`.
            "40001" | "40P01" | "55P03" => Self::Conflict,
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
