//! [`Connector`]: makes connections to the nodes of the cluster.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_core::store::{Address, MemberId, Name, Node, Options, Replicas};

use super::ClusterEndpoint;
use super::epoch::epoch_keys;
use super::primary::Primary;
use super::slot::Slot;
use super::topology::{Topology, shuffle};
use crate::{Driver, Guard, RedisEndpoint, Route, Scripts, Spec, TermKeys, probe_name};

pub(super) struct Connector {
    endpoint: ClusterEndpoint,
    replicas: Option<Replicas>,
    member: MemberId,
    guard: Guard,
    pub(super) connect_timeout: Duration,
    next: u32,
}

impl Connector {
    pub(super) fn new(endpoint: &ClusterEndpoint, options: &Options, member: MemberId) -> Self {
        Self {
            endpoint: endpoint.clone(),
            replicas: options.replicas,
            member,
            guard: Guard::of(options),
            connect_timeout: options.connect_timeout,
            next: 0,
        }
    }

    /// `is_new`: no node knows a ticket of this client. `checks`: whether the first connection checks the node.
    pub(super) fn primary(
        &mut self,
        address: Address,
        topology: &Topology,
        is_new: bool,
        checks: bool,
    ) -> (Arc<Primary>, Driver) {
        let epoch = TermKeys::new(epoch_keys(topology, &address));
        let guard = Guard {
            keys: epoch.clone(),
            ..self.guard.clone()
        };
        let spec = Spec {
            probe: checks.then(|| self.probe(topology, &address)),
            is_new,
            ..self.spec(&address, guard)
        };
        let (store, driver) = spec.unconnected();
        let node = Node(self.next);
        self.next += 1;
        let primary = Primary::new(node, address, store, epoch);
        (Arc::new(primary), driver)
    }

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
            self.endpoint.nodes.clone(),
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
        let endpoint = |address| RedisEndpoint {
            address,
            access: self.endpoint.access.clone(),
        };
        all.into_iter().map(endpoint).collect()
    }

    pub(super) fn inspector(&self, address: &Address) -> crate::Inspector {
        crate::Inspector::new(self.spec(address, self.guard.clone()))
    }

    fn spec(&self, address: &Address, guard: Guard) -> Spec {
        let route = Route::Fixed(address.clone());
        let (access, timeout) = (&self.endpoint.access, self.connect_timeout);
        Spec {
            replicas: self.replicas,
            scripts: Scripts::of_cluster(),
            ..Spec::new(route, access, self.member, guard, timeout)
        }
    }

    fn probe(&self, topology: &Topology, address: &Address) -> Name {
        let mut names = (0..1 << 20).map(|number| probe_name(self.member, number));
        let name = names.find(|name| topology.serves(address, Slot::of(name)));
        name.unwrap_or_else(|| probe_name(self.member, 0))
    }
}
