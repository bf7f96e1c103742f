//! The Redis store: the rules of `docs/protocol.md` as Lua scripts, behind one connection per member. Knows neither the
//! kinds of locks nor the waiters in this process.

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
pub(super) use self::connect::inquiry::inquire;
pub(super) use self::connect::probe::name as probe_name;
pub(super) use self::connect::throttle::Throttle;
pub(crate) use self::driver::Driver;
pub(super) use self::error::Code;
pub(super) use self::inspector::Inspector;
pub(crate) use self::pipeline::Pipeline;
pub(crate) use self::route::Route;
pub(crate) use self::scripts::Scripts;
pub(crate) use self::term::{EPOCH, Guard, TermKeys};
use super::MemberId;
use crate::config::{Access, Replicas};
use crate::name::Name;

pub(crate) struct Spec {
    pub(crate) route: Route,
    pub(crate) access: Access,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) member: MemberId,
    pub(crate) scripts: Arc<Scripts>,
    pub(crate) guard: Guard,
    /// The time for one attempt to connect.
    pub(crate) connect_timeout: Duration,
    /// Reserved for the checks of the first connection. `None`: another node of the cluster is checked.
    pub(crate) probe: Option<Name>,
    /// Whether the store only reads, for an operator.
    pub(crate) reads: bool,
    /// Whether this member has sent nothing to the server yet, so that the server knows none of its tickets.
    pub(crate) is_new: bool,
}

impl Spec {
    /// A single server, without replicas that must confirm grants.
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

    /// Makes a store without a connection. Its driver connects as soon as it runs, if not [before](Driver::open).
    pub(crate) fn unconnected(self) -> (Arc<Pipeline>, Driver) {
        let pipeline = Arc::new(Pipeline::new(Connector::new(self)));
        let driver = Driver::new(pipeline.clone());
        (pipeline, driver)
    }
}
