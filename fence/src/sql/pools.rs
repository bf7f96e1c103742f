//! The databases of sqlx.

use sqlx::{Connection, Transaction};

use super::Kind;
use crate::dialect::Dialect;
use crate::error::FenceError;
use crate::fence::{FenceFuture, Resource};
use crate::token::{Token, in_order};

/// For the transactions of a database, and for its connections while they are in one. `$greatest` returns the greatest
/// token of a name.
macro_rules! fenced {
    ($database:ty, $connection:ty, $dialect:expr, $greatest:ident, $kind:ident) => {
        impl<'a> Resource for &'a mut $connection {
            type Output = FenceFuture<'a>;

            fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
                Box::pin(async move {
                    if !self.is_in_transaction() {
                        return Err(FenceError::NoTransaction);
                    }
                    for (token, number) in in_order(tokens)? {
                        let greatest = $greatest(&mut *self, token.name(), number).await;
                        let greatest = greatest.map_err(|error| {
                            let kind = error.as_database_error().map_or(Kind::Other, $kind);
                            kind.error($dialect, error)
                        })?;
                        token.compare(greatest.unsigned_abs())?;
                    }
                    Ok(())
                })
            }
        }

        impl<'a> Resource for &'a mut Transaction<'_, $database> {
            type Output = FenceFuture<'a>;

            fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
                (&mut **self).check(tokens)
            }
        }
    };
}

#[cfg(feature = "sqlx-postgres")]
mod postgres {
    use sqlx::error::DatabaseError;
    use sqlx::{PgConnection, Postgres};

    use super::*;

    fenced!(Postgres, PgConnection, Dialect::Postgres, greatest, kind);

    async fn greatest(connection: &mut PgConnection, name: &str, ours: i64) -> sqlx::Result<i64> {
        let query = sqlx::query_scalar(crate::sql::POSTGRES)
            .bind(name)
            .bind(ours);
        query.fetch_one(connection).await
    }

    fn kind(error: &dyn DatabaseError) -> Kind {
        Kind::of_postgres(&error.code().unwrap_or_default())
    }
}

#[cfg(feature = "sqlx-mysql")]
mod mysql {
    use sqlx::error::DatabaseError;
    use sqlx::mysql::MySqlDatabaseError;
    use sqlx::{MySql, MySqlConnection};

    use super::*;

    fenced!(MySql, MySqlConnection, Dialect::Mysql, greatest, kind);

    async fn greatest(
        connection: &mut MySqlConnection,
        name: &str,
        ours: i64,
    ) -> sqlx::Result<i64> {
        let query = sqlx::query(crate::sql::MYSQL).bind(name).bind(ours);
        let result = query.execute(connection).await?;
        Ok(match result.last_insert_id() {
            0 => ours,
            greatest => greatest.cast_signed(),
        })
    }

    fn kind(error: &dyn DatabaseError) -> Kind {
        let error = error.try_downcast_ref::<MySqlDatabaseError>();
        error.map_or(Kind::Other, |error| Kind::of_mysql(error.number()))
    }
}

#[cfg(feature = "sqlx-sqlite")]
mod sqlite {
    use sqlx::error::DatabaseError;
    use sqlx::{Sqlite, SqliteConnection};

    use super::*;

    fenced!(Sqlite, SqliteConnection, Dialect::Sqlite, greatest, kind);

    async fn greatest(
        connection: &mut SqliteConnection,
        name: &str,
        ours: i64,
    ) -> sqlx::Result<i64> {
        let query = sqlx::query_scalar(crate::sql::SQLITE).bind(name).bind(ours);
        query.fetch_one(connection).await
    }

    fn kind(error: &dyn DatabaseError) -> Kind {
        let code = error.code().and_then(|code| code.parse().ok());
        Kind::of_sqlite(code.unwrap_or(0), error.message())
    }
}
