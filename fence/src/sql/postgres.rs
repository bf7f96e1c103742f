//! The transactions of tokio-postgres.

use tokio_postgres::error::DbError;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Transaction};

use super::{IN_STORE, Kind, POSTGRES};
use crate::dialect::Dialect;
use crate::fence::{FenceFuture, Resource};
use crate::token::{Token, in_order};

impl<'a> Resource for &'a Transaction<'_> {
    type Output = FenceFuture<'a>;

    fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
        Box::pin(async move {
            for (token, number) in in_order(tokens)? {
                let greatest = greatest(self, &token, number).await;
                let greatest = greatest.map_err(|error| {
                    let of =
                        |error: &DbError| Kind::of_postgres(error.code().code(), error.detail());
                    let kind = error.as_db_error().map_or(Kind::Other, of);
                    kind.error(&token, Dialect::Postgres, error)
                })?;
                token.compare(greatest.unsigned_abs())?;
            }
            Ok(())
        })
    }
}

impl<'a> Resource for &'a mut Transaction<'_> {
    type Output = FenceFuture<'a>;

    fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
        (&*self).check(tokens)
    }
}

/// With types, it is one round trip, and needs no prepared statement, which some poolers don't know.
async fn greatest(transaction: &Transaction<'_>, token: &Token, ours: i64) -> Result<i64, Error> {
    let name = token.name();
    let mut values = vec![(&name as _, Type::TEXT), (&ours as _, Type::INT8)];
    let sql = match &token.ticket {
        Some(ticket) => {
            values.push((ticket as _, Type::TEXT));
            IN_STORE
        }
        None => POSTGRES,
    };
    let rows = transaction.query_typed(sql, &values).await?;
    rows[0].try_get(0)
}
