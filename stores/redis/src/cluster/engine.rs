//! The engine of a Redis Cluster: [`ClusterEndpoint`].

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{
    Address, Boxed, Checked, Dialer, Driver, Engine, Events, Layout, Opening, Options, Reader,
    Scheme, Source, Store, invalid, same_kind,
};
use auto_mutex_core::{ServerKind, SetupError};

use super::{Inspector, Refresher, open};
use crate::engine::{check, listed, meet};
use crate::{Access, servers};

inventory::submit! {
    Scheme { names: &["redis-cluster"], parse: |_, rest| Ok(Arc::new(ClusterEndpoint::parse(rest)?)) }
}

/// A Redis Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterEndpoint {
    /// Some of the nodes. The client learns the addresses of the other nodes from these.
    pub(crate) nodes: Vec<Address>,
    pub(crate) access: Access,
}

impl ClusterEndpoint {
    fn parse(rest: &str) -> Result<Self, SetupError> {
        let (nodes, access) = servers(rest, false)?;
        if access.db != 0 {
            return Err(invalid("a Redis Cluster has no databases but 0"));
        }
        Ok(Self { nodes, access })
    }
}

impl Engine for ClusterEndpoint {
    fn scheme(&self) -> &'static str {
        "redis-cluster"
    }

    fn layout(&self) -> Layout {
        Layout::Sharded
    }

    fn servers(&self) -> String {
        listed(&self.nodes)
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind::<Self>(other).is_some_and(|other| meet(&other.nodes, &self.nodes))
    }

    fn dialed_by(&self, dialer: &Dialer) -> Option<Arc<dyn Engine>> {
        let mut dialed = self.clone();
        dialed.access.transport.dialer = Some(dialer.clone());
        Some(Arc::new(dialed))
    }

    fn asking(&self, source: &Source) -> Result<Arc<dyn Engine>, &'static str> {
        let mut asking = self.clone();
        asking
            .access
            .login
            .ask(source.of_kind(ServerKind::ClusterNode))?;
        Ok(Arc::new(asking))
    }

    fn check(&self, options: &Options) -> Checked {
        check(options)
    }

    fn unconnected(&self, opening: &Opening<'_>) -> (Arc<dyn Store>, Box<dyn Driver>) {
        let (store, refresher) = open::unconnected(self, opening.options, opening.member);
        (store, Box::new(refresher))
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(Inspector::new(self, options))
    }
}

impl Driver for Refresher {
    fn open(&mut self, limit: Duration) -> Boxed<'_, Result<(), SetupError>> {
        Box::pin(open::open(self, limit))
    }

    fn run(self: Box<Self>, events: Arc<dyn Events>) -> Boxed<'static, ()> {
        Box::pin(Self::run(*self, events))
    }
}
