//! The databases of sqlx.

use sqlx::{Connection as _, Executor as _};

use crate::error::FenceError;
use crate::fence::{FenceFuture, Resource};
use crate::token::Token;

/// For the transactions of a database, and for its connections while they are in one. sqlx only counts what the program
/// began, so `$greatest` also asks a database that may have ended it since. It returns the greatest token of a lock.
macro_rules! fenced {
    ($database:ident, $connection:ident, $greatest:ident, $error:expr) => {
        impl<'a> Resource for &'a mut sqlx::$connection {
            type Output = FenceFuture<'a>;

            fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
                Box::pin(async move {
                    if !self.is_in_transaction() {
                        return Err(FenceError::NoTransaction);
                    }
                    for token in tokens {
                        let greatest = $greatest(self, &token).await;
                        let greatest = greatest.map_err(|error| $error(&token, error))?;
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
    of_postgres,
    |token: &Token, error: sqlx::Error| {
        let known = error.as_database_error();
        let known = known.and_then(|it| it.try_downcast_ref::<sqlx::postgres::PgDatabaseError>());
        let state = known.map_or("", |known| known.code()).to_owned();
        let newest = known.and_then(|known| known.detail()?.parse().ok());
        super::of_postgres(token, &state, newest, error.into())
    }
);

#[cfg(feature = "sqlx-postgres")]
async fn of_postgres(db: &mut sqlx::PgConnection, token: &Token) -> sqlx::Result<i64> {
    let number = token.number().cast_signed();
    let ask = |sql| sqlx::query_scalar(sql).bind(token.name()).bind(number);
    let query = match token.ticket() {
        Some(ticket) => ask(super::IN_STORE).bind(ticket),
        None => ask(super::POSTGRES),
    };
    query.fetch_one(db).await
}

#[cfg(feature = "sqlx-mysql")]
fenced!(MySql, MySqlConnection, of_mysql, |_, error: sqlx::Error| {
    let known = error.as_database_error();
    let known = known.and_then(|it| it.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>());
    super::of_mysql(known.map_or(0, |known| known.number()), error.into())
});

#[cfg(feature = "sqlx-mysql")]
async fn of_mysql(db: &mut sqlx::MySqlConnection, token: &Token) -> sqlx::Result<i64> {
    db.execute(super::MYSQL_BEGUN).await?;
    let number = token.number().cast_signed();
    let raise = sqlx::query(super::MYSQL).bind(token.name()).bind(number);
    raise.execute(&mut *db).await?;
    let greatest = sqlx::query_scalar(super::MYSQL_GREATEST);
    greatest.bind(token.name()).fetch_one(db).await
}

#[cfg(feature = "sqlx-sqlite")]
fenced!(
    Sqlite,
    SqliteConnection,
    of_sqlite,
    |_, error: sqlx::Error| {
        let known = error.as_database_error();
        let code = known.and_then(|known| known.code()?.parse().ok());
        match error {
            sqlx::Error::BeginFailed => FenceError::NoTransaction,
            error => super::of_sqlite(code.unwrap_or(0), &error.to_string(), error.into()),
        }
    }
);

#[cfg(feature = "sqlx-sqlite")]
async fn of_sqlite(db: &mut sqlx::SqliteConnection, token: &Token) -> sqlx::Result<i64> {
    // It fails in a transaction, which goes on.
    if db.execute("BEGIN").await.is_ok() {
        db.execute("ROLLBACK").await?;
        return Err(sqlx::Error::BeginFailed);
    }
    let query = sqlx::query_scalar(super::SQLITE).bind(token.name());
    let query = query.bind(token.number().cast_signed());
    query.fetch_one(db).await
}
