//! [`ClusterStore`]: takes requests from any thread, and finds the node of their name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::map::Map;
use super::primary::Primary;
use super::slot::Slot;
use crate::clock::Instant;
use crate::config::Address;
use crate::error::{StoreError, StoreErrorKind};
use crate::guarantees::Guarantees;
use crate::name::Name;
use crate::store::{Answer, Node, Request, Store};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::wait::lock;

/// Where names are that no node serves at present.
const NOWHERE: Node = Node(u32::MAX);
/// How soon a slot may turn again because one node says so: two that disagree must not play with a request for ever.
const TURN: Duration = Duration::from_secs(1);

/// A member's access to a cluster.
#[derive(Debug)]
pub(crate) struct ClusterStore {
    map: Mutex<Arc<Map>>,
    guarantees: Guarantees,
    closed: AtomicBool,
    turned: Mutex<Turned>,
    signs: Mutex<Signs>,
    keeper: Notify,
}

/// What the keeper should look at.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// The map may be out of date.
    pub(super) doubted: bool,
    /// A connection came or went.
    pub(super) changed: bool,
    /// Nodes where all that lives there should be asked again.
    pub(super) adrift: HashSet<Node>,
    /// Nodes that are needed and have no connection.
    pub(super) wanted: HashSet<Address>,
}

/// Slots that a node said are elsewhere, where, and when it did.
pub(super) type Turned = HashMap<Slot, (Arc<Primary>, Instant)>;

impl ClusterStore {
    pub(super) fn new(map: Map) -> Self {
        let nodes = map.primaries().iter();
        let guarantees = nodes.map(|primary| primary.store.guarantees());
        Self {
            // A name may be on any of them.
            guarantees: guarantees
                .reduce(Guarantees::and)
                .unwrap_or_else(Guarantees::unknown),
            map: Mutex::new(Arc::new(map)),
            closed: AtomicBool::new(false),
            turned: Mutex::default(),
            signs: Mutex::default(),
            keeper: Notify::new(),
        }
    }

    pub(super) fn map(&self) -> Arc<Map> {
        lock(&self.map).clone()
    }

    pub(super) fn set_map(&self, map: Map) {
        *lock(&self.map) = Arc::new(map);
    }

    /// What nodes said, and nothing since `then` has confirmed or denied.
    pub(super) fn turned_since(&self, then: Instant) -> Turned {
        let mut turned = lock(&self.turned);
        turned.retain(|_, turned| turned.1 >= then);
        turned.clone()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Has the keeper look at what `sign` notes.
    pub(super) fn sign(&self, sign: impl FnOnce(&mut Signs)) {
        sign(&mut lock(&self.signs));
        self.keeper.notify_one();
    }

    pub(super) fn take_signs(&self) -> Signs {
        std::mem::take(&mut *lock(&self.signs))
    }

    /// Until there is something to look at.
    pub(super) async fn signed(&self) {
        self.keeper.notified().await;
    }

    /// A node says of `request` that its slot is at `to` by now: it goes on there. Given back: it must wait.
    ///
    /// All requests for the slot that are under way are at `from`, so none can be overtaken that goes on with
    /// the first of them. Those behind it can. Nobody finds the new node before the request is there.
    pub(super) fn turn(
        &self,
        slot: Slot,
        from: &Arc<Primary>,
        to: &Arc<Primary>,
        request: Request,
    ) -> Option<Request> {
        let mut current = lock(&self.map);
        if !current.is_at(slot, from) {
            return Some(request);
        }
        let now = Instant::now();
        let mut turned = lock(&self.turned);
        let last = turned.get(&slot).map(|turned| turned.1);
        if last.is_some_and(|last| last.after(TURN) > now) {
            return Some(request);
        }
        turned.insert(slot, (to.clone(), now));
        drop(turned);
        let mut map = Map::clone(&current);
        map.set([slot], to);
        *current = Arc::new(map);
        let refused = to.store.submit(request);
        drop(current);
        to.store.flush();
        refused.map(|answer| answer.request)
    }
}

impl Store for ClusterStore {
    fn guarantees(&self) -> Guarantees {
        self.guarantees.clone()
    }

    fn submit(&self, mut request: Request) -> Option<Answer> {
        let slot = Slot::of(&request.name);
        let mut last: Option<Arc<Primary>> = None;
        loop {
            let map = self.map();
            let Some(primary) = map.primary(slot) else {
                let why = "no node of the cluster serves this slot";
                return Some(busy(request, &StoreError::disconnected(why)));
            };
            if last.is_some_and(|last| Arc::ptr_eq(&last, primary)) {
                let why = "the node is given up just now";
                return Some(busy(request, &StoreError::disconnected(why)));
            }
            let answer = primary.store.submit(request)?;
            if self.is_closed() {
                return Some(answer);
            }
            // It serves nothing any more: the map is another one by now.
            last = Some(primary.clone());
            request = answer.request;
        }
    }

    fn flush(&self) {
        for primary in self.map().primaries() {
            primary.store.flush();
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for primary in self.map().primaries() {
            primary.store.close();
        }
        self.keeper.notify_one();
    }

    fn node(&self, name: &Name) -> Node {
        let map = self.map();
        map.primary(Slot::of(name))
            .map_or(NOWHERE, |primary| primary.node)
    }
}

/// The answer to a request that was not executed.
pub(super) fn busy(request: Request, why: &StoreError) -> Answer {
    Answer {
        request,
        result: Err(why.as_kind(StoreErrorKind::Busy)),
    }
}
