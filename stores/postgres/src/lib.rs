//! The PostgreSQL engine of `auto-mutex`. A program turns on that crate's feature `postgres`, and uses a URL
//! `postgres://…`. Of this crate itself it needs at most the SQL of the schema, if an administrator is to run that:
//! [`schema`], and the rights of programs, readers and operators: [`grants`], [`reading_grants`] and
//! [`operating_grants`].
//!
//! ```
//! let sql = auto_mutex_postgres::schema() + &auto_mutex_postgres::grants("app");
//! assert!(sql.contains("GRANT EXECUTE ON FUNCTION"));
//! ```
//!
//! # Inside
//!
//! The rules of `docs/protocol.md` are PL/pgSQL functions, which a client calls through one connection. `url/` reads
//! the URL, `socket/` connects, `session/` makes a connection ready; `auto-mutex-net` replaces a lost one. `sql/` has
//! the rules; `call/` and `reply/` translate their parameters and results. `pipeline/` takes requests from any thread,
//! and serves the connection. Nothing here knows about kinds of locks, or the queues of waiters in this process.

mod call;
mod engine;
mod epoch;
mod error;
mod facts;
mod pipeline;
mod reader;
mod reply;
mod schema;
mod session;
mod socket;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod url;

pub use self::schema::{grants, operating_grants, reading_grants, schema};
