//! The engine of a Redis Cluster: [`ClusterEndpoint`].

use std::sync::Arc;

use auto_mutex_core::store::{
    Address, Checked, Dialer, Engine, Layout, MemberId, Options, Reader, Scheme, Source,
    Unconnected, invalid, same_kind,
};
use auto_mutex_core::{ServerKind, SetupError};

use super::connector::Connector;
use super::inspector::Inspector;
use super::refresher::Refresher;
use super::store::ClusterStore;
use crate::engine::{check, listed, meet};
use crate::{Access, servers};

inventory::submit! {
    Scheme { names: &["redis-cluster"], parse: |_, rest| Ok(Arc::new(ClusterEndpoint::parse(rest)?)) }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterEndpoint {
    /// Some of the nodes; they name the others.
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

    fn unconnected(&self, options: &Options, member: MemberId) -> Unconnected {
        let connector = Connector::new(self, options, member);
        let store = Arc::new(ClusterStore::new(self.servers()));
        (store.clone(), Box::new(Refresher::new(store, connector)))
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(Inspector::new(self, options))
    }
}
