//! The Redis store: the rules of `docs/protocol.md` as Lua scripts, through one connection per member.
//!
//! `route/` finds the server, `login/` greets it, and `connect/` makes a connection ready. `pipeline/` takes requests
//! from any thread, and serves the connection; `auto-mutex-net` replaces a lost one. `script/` has the rules, and the
//! encoding of requests and replies. Nothing here knows about kinds of locks, or the queues of waiters in this process.

// Without clusters and replicas, parts of the other folders are unused.
#![cfg_attr(
    not(all(feature = "cluster", feature = "replicas")),
    allow(dead_code, unused_imports)
)]

mod acl;
#[cfg(feature = "cluster")]
mod cluster;
mod connect;
mod engine;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod inspector;
mod login;
mod pipeline;
pub(crate) mod rights;
mod route;
mod script;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod url;
mod wire;

pub use self::acl::{AclRule, acl_rule};
pub(crate) use self::engine::RedisEndpoint;
