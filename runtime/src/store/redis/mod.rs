//! The Redis store: the rules of `docs/protocol.md` as Lua scripts, behind one connection per member.
//!
//! - `scripts/`: one file per operation, and in `common/` what they share; `scripts.rs` puts them together.
//! - `command/`, `reply.rs`, `message.rs`, `error.rs`: the words on the wire, both ways; `detours.rs`: who takes which way.
//! - `connect.rs`, `check.rs`, `probe.rs`, `reign.rs`: a connection, opened and found fit for use, and from when on its server grants.
//!   `facts.rs`: what it gives.
//! - `route/`: where the server is, for each connection anew.
//! - `wire/`: sockets, and the protocol that is spoken over them.
//! - `store.rs`, `line/`: requests from any thread, on their way out.
//! - `link.rs`, `pending.rs`, `sending.rs`: one connection, until it is lost; replies, and what is written again.
//! - `driver.rs`: the next connection after that. `replicas/`: grants that count only when replicas have them.
//! - `rights.rs`: what all of this must be allowed to call.
//!
//! Which locks there are and what they wait for is not known here.

mod backoff;
mod check;
mod command;
mod connect;
mod detours;
mod driver;
mod error;
mod facts;
mod line;
mod link;
mod message;
mod pending;
mod probe;
mod refusal;
mod reign;
mod replicas;
mod reply;
pub(crate) mod rights;
mod route;
mod scripts;
mod sending;
mod store;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use self::connect::Connector;
pub(crate) use self::driver::Driver;
pub(crate) use self::reign::Guard;
use self::route::{Route, Sentinels};
pub(crate) use self::store::RedisStore;
use super::MemberId;
use crate::config::{RedisEndpoint, Replicas, SentinelEndpoint};
use crate::error::SetupError;

/// Opens the first connection and checks the server, for `connect_timeout` at most.
pub(crate) async fn connect(
    endpoint: &RedisEndpoint,
    connect_timeout: Duration,
    replicas: Option<Replicas>,
    member: MemberId,
    guard: Guard,
) -> Result<(Arc<RedisStore>, Driver), SetupError> {
    let route = Route::Fixed(endpoint.address.clone());
    let connector = Connector::new(route, &endpoint.access, member, guard);
    open(connector, connect_timeout, replicas).await
}

/// As [`connect`], to the primary of a service that sentinels watch over.
pub(crate) async fn connect_by_sentinels(
    endpoint: &SentinelEndpoint,
    connect_timeout: Duration,
    replicas: Option<Replicas>,
    member: MemberId,
    guard: Guard,
) -> Result<(Arc<RedisStore>, Driver), SetupError> {
    let route = Route::Sentinel(Box::new(Sentinels::new(endpoint)));
    let connector = Connector::new(route, &endpoint.access, member, guard);
    open(connector, connect_timeout, replicas).await
}

async fn open(
    connector: Connector,
    connect_timeout: Duration,
    replicas: Option<Replicas>,
) -> Result<(Arc<RedisStore>, Driver), SetupError> {
    let connector = Arc::new(connector);
    let ready = connector.first(connect_timeout).await?;
    let barrier = match replicas {
        Some(replicas) => {
            let barrier = replicas::Barrier::open(connector.clone(), replicas);
            Some(connector.within(connect_timeout, barrier).await?)
        }
        None => None,
    };
    let guarantees = connector.guarantees(replicas.map_or(0, |replicas| replicas.count));
    let line = Arc::new(line::Line::new(&connector));
    let store = Arc::new(RedisStore::new(line.clone(), guarantees));
    Ok((store, Driver::new(connector, barrier, ready, line)))
}
