//! [`Primary`]: a node of the cluster to which this member sends requests. [`Connector`] connects them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use auto_mutex_net::unconnected;
use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    Address, Driver, Instant, MemberId, Name, Node, ServerHealth, Store as _, StoreOptions, clock,
    lock,
};

use super::slot::{Slot, epoch_keys};
use super::topology::{Topology, shuffle};
use crate::RedisEndpoint;
use crate::connect::{self, trial};
use crate::pipeline::Pipeline;

const NEW: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 2;

/// How long a node without slots is kept after the last request for a slot that it was importing.
const KEPT: Duration = Duration::from_secs(60);

pub(super) struct Primary {
    /// Never reused.
    pub(super) node: Node,
    pub(super) address: Address,
    pub(super) store: Arc<Pipeline>,
    link: AtomicU8,
    pub(super) refuses: AtomicBool,
    /// Whether there may be earlier requests to this node that the member must resend on a new connection.
    had_requests: AtomicBool,
    wanted: Mutex<Instant>,
}

impl Primary {
    pub(super) fn new(node: Node, address: Address, store: Arc<Pipeline>) -> Self {
        Self {
            node,
            address,
            store,
            link: AtomicU8::new(NEW),
            refuses: AtomicBool::new(false),
            had_requests: AtomicBool::new(true),
            wanted: Mutex::new(Instant::START),
        }
    }

    /// Records that the node was connected at set-up, before any request.
    pub(super) fn opened(&self) {
        self.had_requests.store(false, Ordering::Relaxed);
        self.set_up(true);
    }

    pub(super) fn set_up(&self, up: bool) {
        self.link
            .store(if up { UP } else { DOWN }, Ordering::Release);
    }

    pub(super) fn is_up(&self) -> bool {
        self.link.load(Ordering::Acquire) == UP
    }

    pub(super) fn is_well(&self) -> bool {
        self.is_up() && !self.refuses.load(Ordering::Acquire)
    }

    pub(super) fn servers(&self) -> Vec<ServerHealth> {
        let mut servers = self.store.servers();
        for server in &mut servers {
            if server.connected && self.refuses.load(Ordering::Acquire) {
                let why = "the node answers that the cluster is down";
                server.connected = false;
                server.error = Some(StoreError::disconnected(why));
            }
        }
        servers
    }

    pub(super) fn is_new(&self) -> bool {
        self.link.load(Ordering::Acquire) == NEW
    }

    /// Whether the node had a connection or requests before.
    pub(super) fn connects_again(&self) -> bool {
        self.had_requests.swap(true, Ordering::Relaxed)
    }

    pub(super) fn want(&self) {
        *lock(&self.wanted) = clock::now().after(KEPT);
    }

    pub(super) fn is_wanted(&self) -> bool {
        *lock(&self.wanted) > clock::now()
    }
}

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
        let (store, driver) = unconnected(Pipeline::new(connector));
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
