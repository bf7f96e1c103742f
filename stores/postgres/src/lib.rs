//! The PostgreSQL store: the rules of `docs/protocol.md` as PL/pgSQL functions, through one connection per member.
//!
//! `url/` reads the URL, `socket/` connects, `session/` makes a connection ready, and `link/` serves it. `driver/` replaces
//! a lost one. `sql/` has the rules, and `call/` and `reply/` speak to them. Requests from any thread come through
//! `pipeline/`. Nothing here knows about kinds of locks, or the queues of waiters in this process.

mod call;
mod driver;
mod engine;
mod error;
mod facts;
mod link;
mod pipeline;
mod reader;
mod reply;
mod schema;
mod session;
mod socket;
mod term;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod url;

pub use self::schema::{grants, reading_grants, schema};
