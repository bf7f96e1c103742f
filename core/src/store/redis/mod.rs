//! The Redis store: the rules of `docs/protocol.md` as Lua scripts, behind one connection per member.
//!
//! - `scripts/`: one script for all operations, in parts, and the script for the term; `scripts.rs` assembles them.
//! - `command.rs`, `reply.rs`, `push.rs`, `error.rs`: encoding of requests, decoding of replies.
//! - `connect/`: opens and checks a connection. `term.rs`: from when on its server grants.
//! - `route/`: finds the server, again for each connection.
//! - `pipeline/`: requests from any thread, until they are written.
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
pub(super) use self::error::is_elsewhere;
pub(super) use self::inspector::Inspector;
pub(crate) use self::pipeline::Pipeline;
pub(crate) use self::route::Route;
pub(crate) use self::scripts::Scripts;
pub(crate) use self::term::{EPOCH, Guard, TermKeys};
use super::MemberId;
use crate::config::{Access, RedisEndpoint, Replicas};
use crate::error::SetupError;

/// Opens the first connection and checks the server, within `limit`. `connect_timeout` is the time for later connections.
pub(crate) async fn connect(
    route: Route,
    access: &Access,
    connect_timeout: Duration,
    limit: Duration,
    replicas: Option<Replicas>,
    member: MemberId,
    guard: Guard,
) -> Result<(Arc<Pipeline>, Driver), SetupError> {
    let scripts = Scripts::of_server();
    let (store, mut driver) = with(Connector::new(
        route,
        access,
        replicas,
        member,
        scripts,
        guard,
        connect_timeout,
    ));
    driver.open(limit, &probe_name(member, 0)).await?;
    Ok((store, driver))
}

/// Makes a store without a connection. Its driver connects as soon as it runs.
pub(crate) fn unconnected(
    endpoint: &RedisEndpoint,
    replicas: Option<Replicas>,
    member: MemberId,
    scripts: Arc<Scripts>,
    guard: Guard,
    connect_timeout: Duration,
) -> (Arc<Pipeline>, Driver) {
    with(Connector::new(
        Route::fixed(endpoint),
        &endpoint.access,
        replicas,
        member,
        scripts,
        guard,
        connect_timeout,
    ))
}

fn with(connector: Connector) -> (Arc<Pipeline>, Driver) {
    let pipeline = Arc::new(Pipeline::new(connector));
    let driver = Driver::new(pipeline.clone());
    (pipeline, driver)
}
