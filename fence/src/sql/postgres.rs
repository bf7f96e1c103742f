//! The transactions of tokio-postgres.

use tokio_postgres::types::Type;
use tokio_postgres::{Error, Transaction};

use super::{Kind, POSTGRES};
use crate::dialect::Dialect;
use crate::fence::{FenceFuture, Resource};
use crate::token::{Token, in_order};

impl<'a> Resource for &'a Transaction<'_> {
    type Output = FenceFuture<'a>;

    fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
        Box::pin(async move {
            for (token, number) in in_order(tokens)? {
                let greatest = greatest(self, token.name(), number).await;
                let greatest = greatest.map_err(|error| {
                    let kind = error.code().map(|state| Kind::of_postgres(state.code()));
                    kind.unwrap_or(Kind::Other).error(Dialect::Postgres, error)
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
async fn greatest(transaction: &Transaction<'_>, name: &str, ours: i64) -> Result<i64, Error> {
    let values = [(&name as _, Type::TEXT), (&ours as _, Type::INT8)];
    let rows = transaction.query_typed(POSTGRES, &values).await?;
    rows[0].try_get(0)
}
