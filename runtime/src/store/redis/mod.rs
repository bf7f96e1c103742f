//! The Redis store: the rules of `docs/protocol.md` as Lua scripts, behind one connection per member.
//!
//! - `scripts/`: one file per operation, and in `common/` what they share; `scripts.rs` puts them together.
//! - `command.rs`, `reply.rs`, `message.rs`, `error.rs`: the words on the wire, both ways.
//! - `connect.rs`, `check.rs`, `probe.rs`: a connection, opened and found fit for use.
//! - `link.rs`: requests and replies on one connection, until it is lost.
//! - `driver.rs`: the next connection after that. `store.rs`: the hand-over from any thread.
//!
//! Which locks there are and what they wait for is not known here. The types of the Redis client stay inside.

mod backoff;
mod check;
mod command;
mod connect;
mod detours;
mod driver;
mod error;
mod link;
mod message;
mod probe;
mod refusal;
mod reply;
mod scripts;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::driver::Driver;
pub(crate) use self::store::RedisStore;
use super::MemberId;
use crate::config::RedisEndpoint;
use crate::error::SetupError;

/// Opens the first connection and checks the server, for `connect_timeout` at most.
pub(crate) async fn connect(
    endpoint: &RedisEndpoint,
    connect_timeout: Duration,
    member: MemberId,
) -> Result<(Arc<RedisStore>, Driver), SetupError> {
    let connector = connect::Connector::new(endpoint, member);
    let link = connector.first(connect_timeout).await?;
    let (store, requests) = RedisStore::new();
    Ok((store, Driver::new(connector, link, requests)))
}
