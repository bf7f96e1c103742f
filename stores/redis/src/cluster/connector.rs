//! [`Connector`]: makes connections to the nodes of the cluster.

use std::collections::HashSet;
use std::sync::Arc;

use auto_mutex_core::store::{Address, Driver, MemberId, Name, Node, StoreOptions, lock};

use super::epoch::epoch_keys;
use super::primary::Primary;
use super::slot::Slot;
use super::topology::{Topology, shuffle};
use crate::RedisEndpoint;
use crate::connect::{self, trial};
use crate::link::driver::unconnected;

pub(super) struct Connector {
    pub(super) endpoint: RedisEndpoint,
    pub(super) options: StoreOptions,
    member: MemberId,
    next: u32,
}

impl Connector {
    pub(super) fn new(endpoint: &RedisEndpoint, options: &StoreOptions, member: MemberId) -> Self {
        Self {
            endpoint: endpoint.clone(),
            options: *options,
            member,
            next: 0,
        }
    }

    /// With `is_new`, no node knows a ticket of this client. `checks` tells whether the first connection checks the
    /// node.
    pub(super) fn primary(
        &mut self,
        address: Address,
        topology: &Topology,
        is_new: bool,
        checks: bool,
    ) -> (Arc<Primary>, Box<dyn Driver>) {
        let mut connector = self.of_node(&address);
        lock(&connector.guard.keys).keys = epoch_keys(topology, &address);
        connector.trial = checks.then(|| self.trial(topology, &address));
        connector.is_new = is_new;
        let (store, driver) = unconnected(connector);
        let node = Node(self.next);
        self.next += 1;
        (Arc::new(Primary::new(node, address, store)), driver)
    }

    pub(super) fn candidates(
        &self,
        primaries: &[Arc<Primary>],
        replicas: &[Address],
    ) -> Vec<Address> {
        let address = |primary: &Arc<Primary>| primary.address.clone();
        let (up, down): (Vec<_>, Vec<_>) = primaries.iter().partition(|primary| primary.is_up());
        let mut groups = [
            up.into_iter().map(address).collect(),
            replicas.to_vec(),
            self.endpoint.servers.clone(),
            down.into_iter().map(address).collect(),
        ];
        for group in &mut groups {
            shuffle(group);
        }
        let mut seen = HashSet::new();
        let all = groups.into_iter().flatten();
        all.filter(|address| seen.insert(address.clone())).collect()
    }

    pub(super) fn of_node(&self, address: &Address) -> connect::Connector {
        let node = RedisEndpoint {
            servers: vec![address.clone()],
            ..self.endpoint.clone()
        };
        connect::Connector::new(node, &self.options, self.member)
    }

    fn trial(&self, topology: &Topology, address: &Address) -> Name {
        let mut names = (0..1 << 20).map(|number| trial::name(self.member, number));
        let name = names.find(|name| topology.serves(address, Slot::of(name)));
        name.unwrap_or_else(|| trial::name(self.member, 0))
    }
}
