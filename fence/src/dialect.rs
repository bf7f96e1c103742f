//! [`Dialect`]: the SQL of each kind of database.

use std::fmt;

/// The SQL of a kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite 3.35 or newer.
    Sqlite,
}

impl Dialect {
    /// The statement that creates the table, for the program's migrations. The command `auto-mutex fence` prints it.
    #[must_use]
    pub const fn migration(self) -> &'static str {
        match self {
            Self::Postgres => include_str!("migrations/postgres.sql"),
            Self::Mysql => include_str!("migrations/mysql.sql"),
            Self::Sqlite => include_str!("migrations/sqlite.sql"),
        }
    }
}

/// As `auto-mutex fence --dialect` takes it.
impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Sqlite => "sqlite",
        })
    }
}
