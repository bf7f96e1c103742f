//! The transactions of tokio-postgres.

use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

use super::{IN_STORE, POSTGRES, of_postgres};
use crate::fence::{FenceFuture, Resource};
use crate::token::Token;

impl<'a> Resource for &'a Transaction<'_> {
    type Output = FenceFuture<'a>;

    fn check(self, tokens: Vec<Token>) -> FenceFuture<'a> {
        Box::pin(async move {
            for token in tokens {
                let (name, number) = (token.name(), token.number().cast_signed());
                let mut values = vec![(&name as _, Type::TEXT), (&number as _, Type::INT8)];
                let sql = match &token.ticket {
                    Some(ticket) => {
                        values.push((ticket as _, Type::TEXT));
                        IN_STORE
                    }
                    None => POSTGRES,
                };
                // With types, it is one round trip, and needs no prepared statement, which some poolers don't know.
                let rows = self.query_typed(sql, &values).await;
                let greatest: Result<i64, _> = rows.and_then(|rows| rows[0].try_get(0));
                let greatest = greatest.map_err(|error| {
                    let known = error.as_db_error();
                    let state = known.map_or("", |known| known.code().code()).to_owned();
                    let newest = known.and_then(|known| known.detail()?.parse().ok());
                    of_postgres(&token, &state, newest, error.into())
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
