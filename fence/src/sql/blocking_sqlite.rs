//! The transactions of rusqlite, and its connections while they are in one.

use rusqlite::{Connection, Transaction};

use super::{SQLITE, of_sqlite};
use crate::error::FenceError;
use crate::fence::Resource;
use crate::token::Token;

impl Resource for &Connection {
    type Output = Result<(), FenceError>;

    fn check(self, tokens: Vec<Token>) -> Self::Output {
        if self.is_autocommit() {
            return Err(FenceError::NoTransaction);
        }
        for token in tokens {
            let values = (token.name(), token.number().cast_signed());
            let greatest = self.query_row(SQLITE, values, |row| row.get(0));
            let greatest: i64 = greatest.map_err(|error| {
                // With some features of rusqlite, an invalid statement is another error.
                let code = error.sqlite_error().map_or(1, |error| error.extended_code);
                of_sqlite(code, &error.to_string(), error.into())
            })?;
            token.compare(greatest.unsigned_abs())?;
        }
        Ok(())
    }
}

macro_rules! as_its_connection {
    ($($transaction:ty),*) => {
        $(impl Resource for $transaction {
            type Output = Result<(), FenceError>;

            fn check(self, tokens: Vec<Token>) -> Self::Output {
                let connection: &Connection = self;
                connection.check(tokens)
            }
        })*
    };
}
as_its_connection!(&mut Connection, &Transaction<'_>, &mut Transaction<'_>);
