//! The transactions of rusqlite, and its connections while they are in one.

use rusqlite::{Connection, Transaction};

use super::{Kind, SQLITE};
use crate::dialect::Dialect;
use crate::error::FenceError;
use crate::fence::Resource;
use crate::token::{Token, in_order};

impl Resource for &Connection {
    type Output = Result<(), FenceError>;

    fn check(self, tokens: Vec<Token>) -> Self::Output {
        if self.is_autocommit() {
            return Err(FenceError::NoTransaction);
        }
        for (token, number) in in_order(tokens)? {
            let greatest = self.query_row(SQLITE, (token.name(), number), |row| row.get(0));
            let greatest: i64 = greatest.map_err(|error| {
                // With some features of rusqlite, an invalid statement is another error.
                let code = error.sqlite_error().map_or(1, |error| error.extended_code);
                let kind = Kind::of_sqlite(code, &error.to_string());
                kind.error(&token, Dialect::Sqlite, error)
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
