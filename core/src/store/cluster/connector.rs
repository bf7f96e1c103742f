//! [`Connector`]: makes connections to the nodes of the cluster.

use std::sync::Arc;
use std::time::Duration;

use super::epoch::epoch_keys;
use super::primary::Primary;
use super::topology::{Topology, shuffle};
use crate::config::{Access, Address, ClusterEndpoint, RedisEndpoint, Replicas, Settings};
use crate::store::redis::{self, Driver, Guard, Route, Scripts, TermKeys};
use crate::store::{MemberId, Node};

/// Makes the connections of one member, and chooses the nodes to ask for the topology.
#[derive(Clone)]
pub(super) struct Connector {
    seeds: Vec<Address>,
    access: Access,
    replicas: Option<Replicas>,
    pub(super) member: MemberId,
    scripts: Arc<Scripts>,
    guard: Guard,
    pub(super) connect_timeout: Duration,
    next: u32,
}

impl Connector {
    pub(super) fn new(endpoint: &ClusterEndpoint, settings: &Settings, member: MemberId) -> Self {
        Self {
            seeds: endpoint.nodes.clone(),
            access: endpoint.access.clone(),
            replicas: settings.replicas,
            member,
            scripts: Scripts::of_cluster(),
            guard: Guard::of(settings),
            connect_timeout: settings.connect_timeout,
            next: 0,
        }
    }

    /// Makes a node of `topology` that has no connection yet, and its driver. `first`: this client has sent the node no
    /// request yet.
    pub(super) fn primary(
        &mut self,
        address: Address,
        topology: &Topology,
        first: bool,
    ) -> (Arc<Primary>, Driver) {
        let endpoint = self.endpoint(address.clone());
        let epoch = TermKeys::new(epoch_keys(topology, &address));
        let guard = Guard {
            keys: epoch.clone(),
            ..self.guard.clone()
        };
        let scripts = self.scripts.clone();
        let (store, driver) = redis::unconnected(
            &endpoint,
            self.replicas,
            self.member,
            scripts,
            guard,
            self.connect_timeout,
        );
        let node = Node(self.next);
        self.next += 1;
        let primary = Primary::new(node, address, store, epoch, first);
        (Arc::new(primary), driver)
    }

    /// Returns the nodes to ask for the topology. The order is: connected primaries, `replicas`, the nodes in the URL,
    /// other primaries.
    pub(super) fn candidates(
        &self,
        primaries: &[Arc<Primary>],
        replicas: &[Address],
    ) -> Vec<RedisEndpoint> {
        let address = |primary: &Arc<Primary>| primary.address.clone();
        let (up, down): (Vec<_>, Vec<_>) = primaries.iter().partition(|primary| primary.is_up());
        let mut groups = [
            up.into_iter().map(address).collect(),
            replicas.to_vec(),
            self.seeds.clone(),
            down.into_iter().map(address).collect(),
        ];
        let mut all: Vec<Address> = Vec::new();
        for group in &mut groups {
            shuffle(group);
            for address in group.drain(..) {
                if !all.contains(&address) {
                    all.push(address);
                }
            }
        }
        all.into_iter().map(|one| self.endpoint(one)).collect()
    }

    /// A reader of the node at `address`.
    pub(super) fn inspector(&self, address: Address) -> redis::Inspector {
        let endpoint = self.endpoint(address);
        redis::Inspector::new(
            Route::fixed(&endpoint),
            &endpoint.access,
            self.replicas,
            self.scripts.clone(),
            self.guard.clone(),
            self.connect_timeout,
        )
    }

    fn endpoint(&self, address: Address) -> RedisEndpoint {
        RedisEndpoint {
            address,
            access: self.access.clone(),
        }
    }
}
