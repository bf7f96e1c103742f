//! The Redis store: the rules of `docs/protocol.md` as Lua scripts, behind one connection per member.
//!
//! - `scripts/`: one script for all operations, in parts, and the script for the term; `scripts.rs` assembles them.
//! - `command.rs`, `reply.rs`, `push.rs`, `error.rs`: encoding of requests, decoding of replies.
//! - `connect/`: opens and checks a connection. `term.rs`: from when on its server grants.
//! - `route/`: finds the server, again for each connection.
//! - `store.rs`, `pipeline/`: requests from any thread, until they are written.
//! - `link.rs`, `pending.rs`, `sending.rs`: one connection, until it is lost; replies and rewrites.
//! - `driver.rs`: replaces a lost connection. `replicas/`: grants that count only once replicas have them.
//! - `inspector.rs`: reads names and their state, and changes nothing.
//! - `rights.rs`: the commands that the user must be allowed to call.
//!
//! This folder does not know the kinds of locks, nor the queues of waiters in this process.

mod command;
mod connect;
mod driver;
mod error;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod inspector;
mod link;
mod pending;
mod pipeline;
mod push;
mod replicas;
mod reply;
pub(crate) mod rights;
mod route;
mod scripts;
mod sending;
mod shard_channels;
mod store;
mod term;
#[cfg(repository)]
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use self::connect::Connector;
pub(super) use self::connect::backoff::jittered;
pub(super) use self::connect::inquiry::inquire;
pub(super) use self::connect::probe::name as probe_name;
pub(crate) use self::driver::Driver;
pub(super) use self::inspector::Inspector;
use self::pipeline::Pipeline;
pub(crate) use self::route::Route;
pub(crate) use self::scripts::Scripts;
pub(crate) use self::store::RedisStore;
pub(crate) use self::term::{EPOCH, Guard, TermKeys};
use super::MemberId;
use crate::config::{Access, RedisEndpoint, Replicas};
use crate::error::SetupError;
pub(super) use crate::wire::{Limits, Value};

/// Opens the first connection and checks the server, for `limit` at most. Later connections have `connect_timeout`.
pub(crate) async fn connect(
    route: Route,
    access: &Access,
    connect_timeout: Duration,
    limit: Duration,
    replicas: Option<Replicas>,
    member: MemberId,
    guard: Guard,
) -> Result<(Arc<RedisStore>, Driver), SetupError> {
    let scripts = Scripts::of_server();
    let connector = Connector::new(route, access, member, scripts, guard, connect_timeout);
    let (store, mut driver) = apart(connector, replicas);
    driver.open(limit, &probe_name(member, 0)).await?;
    Ok((store, driver))
}

/// Makes a primary of a cluster, without a connection yet. `scripts` are those for a cluster.
pub(super) fn primary(
    endpoint: &RedisEndpoint,
    replicas: Option<Replicas>,
    member: MemberId,
    scripts: Arc<Scripts>,
    guard: Guard,
    connect_timeout: Duration,
) -> (Arc<RedisStore>, Driver) {
    let route = Route::fixed(endpoint);
    let connector = Connector::new(
        route,
        &endpoint.access,
        member,
        scripts,
        guard,
        connect_timeout,
    );
    apart(connector, replicas)
}

fn apart(connector: Connector, replicas: Option<Replicas>) -> (Arc<RedisStore>, Driver) {
    let connector = Arc::new(connector);
    let pipeline = Arc::new(Pipeline::new(&connector));
    let store = Arc::new(RedisStore::new(
        pipeline.clone(),
        connector.clone(),
        replicas,
    ));
    let driver = Driver::new(connector, replicas, pipeline);
    (store, driver)
}

/// Makes a store for a server that is unreachable now, and connects as soon as possible.
pub(crate) fn connect_later(
    endpoint: &RedisEndpoint,
    member: MemberId,
    guard: Guard,
    connect_timeout: Duration,
) -> (Arc<RedisStore>, Driver) {
    let route = Route::fixed(endpoint);
    let scripts = Scripts::of_server();
    let connector = Connector::new(
        route,
        &endpoint.access,
        member,
        scripts,
        guard,
        connect_timeout,
    );
    apart(connector, None)
}
