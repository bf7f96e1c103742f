//! The Redis store: the rules of `docs/protocol.md` as Lua scripts, behind one connection per member.
//!
//! `route/` finds the server, `login/` greets it, `connect/` makes a connection ready, and `link/` serves it and replaces a
//! lost one. `script/` has the rules, with the requests and replies on the wire. Requests of any thread come
//! through `pipeline/`. Nothing here knows the kinds of locks, nor the queues of waiters in this process.

// Without clusters and replicas, nobody calls what they need of the other folders.
#![cfg_attr(
    not(all(feature = "cluster", feature = "replicas")),
    allow(dead_code, unused_imports)
)]

mod access;
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
mod link;
mod login;
mod pipeline;
#[cfg(feature = "redis-1")]
mod redis_1;
pub(crate) mod rights;
mod route;
mod script;
mod shard_channels;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod url;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{MemberId, Name, Options, Replicas};

pub(crate) use self::access::Access;
pub use self::acl::{AclRule, acl_rule};
use self::connect::Connector;
pub(crate) use self::connect::inquire;
pub(crate) use self::connect::probe::name as probe_name;
pub(crate) use self::connect::term::{EPOCH, Guard, TermKeys};
pub(crate) use self::engine::uses_database;
pub(crate) use self::engine::{RedisEndpoint, SentinelEndpoint};
pub(crate) use self::error::Code;
pub(crate) use self::inspector::Inspector;
pub(crate) use self::link::driver::Driver;
pub(crate) use self::login::throttle::Throttle;
pub(crate) use self::pipeline::Pipeline;
#[cfg(feature = "redis-1")]
pub use self::redis_1::Redis1Credentials;
pub(crate) use self::route::Route;
pub(crate) use self::script::Scripts;
pub(crate) use self::url::servers;

pub(crate) struct Spec {
    pub(crate) route: Route,
    pub(crate) access: Access,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) member: MemberId,
    pub(crate) scripts: Arc<Scripts>,
    pub(crate) guard: Guard,
    pub(crate) connect_timeout: Duration,
    /// Reserved for the checks of the first connection. `None`: another node of the cluster is checked.
    pub(crate) probe: Option<Name>,
    /// For an operator, who writes no key: notes no term, and keeps no other client from loading missing scripts too.
    pub(crate) reads: bool,
    /// Whether this member has sent nothing to the server yet, so that the server knows none of its tickets.
    pub(crate) is_new: bool,
}

impl Spec {
    pub(crate) fn of(route: Route, access: &Access, options: &Options, member: MemberId) -> Self {
        let mut guard = Guard::of(options);
        if options.is_voter {
            guard = guard.unreplicated();
        }
        Self {
            replicas: options.replicas,
            ..Self::new(route, access, member, guard, options.connect_timeout)
        }
    }

    /// Without replicas that must confirm grants.
    pub(crate) fn new(
        route: Route,
        access: &Access,
        member: MemberId,
        guard: Guard,
        connect_timeout: Duration,
    ) -> Self {
        Self {
            route,
            access: access.clone(),
            replicas: None,
            member,
            scripts: Scripts::of_server(),
            guard,
            connect_timeout,
            probe: Some(probe_name(member, 0)),
            reads: false,
            is_new: true,
        }
    }

    pub(crate) fn unconnected(self) -> (Arc<Pipeline>, Driver) {
        let pipeline = Arc::new(Pipeline::new(Connector::new(self)));
        let driver = Driver::new(pipeline.clone());
        (pipeline, driver)
    }
}
