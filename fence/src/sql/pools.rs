//! The databases of sqlx, for each of its versions: what a program fences is a transaction of its own copy.

/// For the transactions of a database, and for its connections while they are in one. sqlx only counts what the program
/// began, so `greatest` also asks a database that may have ended it since. It returns the greatest token of a lock.
macro_rules! fenced {
    ($sqlx:ident, $database:ident, $connection:ident) => {
        use ::$sqlx::{Connection as _, Error, Result, Transaction, $connection};

        use crate::{FenceError, FenceFuture, Resource, Token, sql};

        impl<'a> Resource for &'a mut $connection {
            type Output = FenceFuture<'a>;

            fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
                Box::pin(async move {
                    if !self.is_in_transaction() {
                        return Err(FenceError::NoTransaction);
                    }
                    for token in tokens {
                        let greatest = greatest(self, &token).await;
                        let greatest = greatest.map_err(|error| refusal(&token, error))?;
                        token.compare(greatest.unsigned_abs())?;
                    }
                    Ok(())
                })
            }
        }

        impl<'a> Resource for &'a mut Transaction<'_, ::$sqlx::$database> {
            type Output = FenceFuture<'a>;

            fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
                (&mut **self).check(tokens)
            }
        }
    };
}

macro_rules! postgres {
    ($sqlx:ident) => {
        fenced!($sqlx, Postgres, PgConnection);

        async fn greatest(db: &mut PgConnection, token: &Token) -> Result<i64> {
            let number = token.number().cast_signed();
            let ask = |sql: &'static str| {
                let query = ::$sqlx::query_scalar(sql);
                query.bind(token.name()).bind(number)
            };
            let query = match token.ticket() {
                Some(ticket) => ask(sql::IN_STORE).bind(ticket),
                None => ask(sql::POSTGRES),
            };
            query.fetch_one(db).await
        }

        fn refusal(token: &Token, error: Error) -> FenceError {
            type Known = ::$sqlx::postgres::PgDatabaseError;
            let known = error.as_database_error();
            let known = known.and_then(|it| it.try_downcast_ref::<Known>());
            let state = known.map_or("", |known| known.code()).to_owned();
            let newest = known.and_then(|known| known.detail()?.parse().ok());
            sql::of_postgres(token, &state, newest, error.into())
        }
    };
}

macro_rules! mysql {
    ($sqlx:ident) => {
        use ::$sqlx::Executor as _;
        fenced!($sqlx, MySql, MySqlConnection);

        async fn greatest(db: &mut MySqlConnection, token: &Token) -> Result<i64> {
            db.execute(sql::MYSQL_BEGUN).await?;
            let number = token.number().cast_signed();
            let raise = ::$sqlx::query(sql::MYSQL).bind(token.name()).bind(number);
            raise.execute(&mut *db).await?;
            let greatest = ::$sqlx::query_scalar(sql::MYSQL_GREATEST);
            greatest.bind(token.name()).fetch_one(db).await
        }

        fn refusal(_: &Token, error: Error) -> FenceError {
            type Known = ::$sqlx::mysql::MySqlDatabaseError;
            let known = error.as_database_error();
            let known = known.and_then(|it| it.try_downcast_ref::<Known>());
            sql::of_mysql(known.map_or(0, |known| known.number()), error.into())
        }
    };
}

macro_rules! sqlite {
    ($sqlx:ident) => {
        use ::$sqlx::Executor as _;
        fenced!($sqlx, Sqlite, SqliteConnection);

        async fn greatest(db: &mut SqliteConnection, token: &Token) -> Result<i64> {
            // It fails in a transaction, which goes on.
            if db.execute("BEGIN").await.is_ok() {
                db.execute("ROLLBACK").await?;
                return Err(Error::BeginFailed);
            }
            let query = ::$sqlx::query_scalar(sql::SQLITE).bind(token.name());
            let query = query.bind(token.number().cast_signed());
            query.fetch_one(db).await
        }

        fn refusal(_: &Token, error: Error) -> FenceError {
            let known = error.as_database_error();
            let code = known.and_then(|known| known.code()?.parse().ok());
            match error {
                Error::BeginFailed => FenceError::NoTransaction,
                error => sql::of_sqlite(code.unwrap_or(0), &error.to_string(), error.into()),
            }
        }
    };
}

macro_rules! versions {
    ($($feature:literal $name:ident: $database:ident!($sqlx:ident);)*) => {
        $(#[cfg(feature = $feature)]
        mod $name {
            $database!($sqlx);
        })*
    };
}
versions! {
    "sqlx-0_8-mysql" mysql_0_8: mysql!(sqlx);
    "sqlx-0_8-postgres" postgres_0_8: postgres!(sqlx);
    "sqlx-0_8-sqlite" sqlite_0_8: sqlite!(sqlx);
    "sqlx-0_9-mysql" mysql_0_9: mysql!(sqlx_0_9);
    "sqlx-0_9-postgres" postgres_0_9: postgres!(sqlx_0_9);
    "sqlx-0_9-sqlite" sqlite_0_9: sqlite!(sqlx_0_9);
}
