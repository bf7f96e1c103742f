//! The databases of sqlx.

use sqlx::Connection as _;

use super::Kind;
use crate::dialect::Dialect;
use crate::error::FenceError;
use crate::fence::{FenceFuture, Resource};
use crate::token::{Token, in_order};

/// For the transactions of a database, and for its connections while they are in one. `$ask` returns the greatest token
/// of a lock, and `$kind` is of a database's error.
macro_rules! fenced {
    ($database:ident, $connection:ident, $dialect:ident, $kind:expr,
        |$its:ident, $token:ident, $ours:ident| $ask:expr) => {
        impl<'a> Resource for &'a mut sqlx::$connection {
            type Output = FenceFuture<'a>;

            fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
                Box::pin(async move {
                    if !self.is_in_transaction() {
                        return Err(FenceError::NoTransaction);
                    }
                    for (token, $ours) in in_order(tokens)? {
                        let ($its, $token) = (&mut *self, &token);
                        let greatest: sqlx::Result<i64> = $ask;
                        let greatest = greatest.map_err(|error| {
                            let kind = error.as_database_error().map_or(Kind::Other, $kind);
                            kind.error(&token, Dialect::$dialect, error)
                        })?;
                        token.compare(greatest.unsigned_abs())?;
                    }
                    Ok(())
                })
            }
        }

        impl<'a> Resource for &'a mut sqlx::Transaction<'_, sqlx::$database> {
            type Output = FenceFuture<'a>;

            fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
                (&mut **self).check(tokens)
            }
        }
    };
}

#[cfg(feature = "sqlx-postgres")]
fenced!(
    Postgres,
    PgConnection,
    Postgres,
    |error| {
        let detail = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>();
        let detail = detail.and_then(|error| error.detail());
        Kind::of_postgres(&error.code().unwrap_or_default(), detail)
    },
    |connection, token, ours| {
        let ask = |sql| sqlx::query_scalar(sql).bind(token.name()).bind(ours);
        let query = match token.ticket() {
            Some(ticket) => ask(super::IN_STORE).bind(ticket),
            None => ask(super::POSTGRES),
        };
        query.fetch_one(connection).await
    }
);

#[cfg(feature = "sqlx-mysql")]
fenced!(
    MySql,
    MySqlConnection,
    Mysql,
    |error| {
        let error = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>();
        error.map_or(Kind::Other, |error| Kind::of_mysql(error.number()))
    },
    |connection, token, ours| {
        let query = sqlx::query(super::MYSQL).bind(token.name()).bind(ours);
        let result = query.execute(connection).await;
        result.map(|done| match done.last_insert_id() {
            0 => ours,
            greatest => greatest.cast_signed(),
        })
    }
);

#[cfg(feature = "sqlx-sqlite")]
fenced!(
    Sqlite,
    SqliteConnection,
    Sqlite,
    |error| {
        let code = error.code().and_then(|code| code.parse().ok());
        Kind::of_sqlite(code.unwrap_or(0), error.message())
    },
    |connection, token, ours| {
        let query = sqlx::query_scalar(super::SQLITE)
            .bind(token.name())
            .bind(ours);
        query.fetch_one(connection).await
    }
);
