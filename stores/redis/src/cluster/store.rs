//! [`ClusterStore`]: takes requests from any thread, and sends each to the node that serves its name.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use auto_mutex_seam::store::{
    Address, Answer, Name, Node, Request, ServerHealth, Store, StoreErrorKind, clock, lock, not_yet,
};
use auto_mutex_seam::{Guarantees, SetupError, StoreError};
use tokio::sync::Notify;

use super::primary::Primary;
use super::slot::Slot;
use super::slot_map::SlotMap;
use super::topology::Topology;

/// Stands for the missing node of a slot that no node serves.
pub(super) const NOWHERE: Node = Node(u32::MAX);
/// The minimum time between two moves of a slot, so that two nodes that disagree can't pass a request back and forth
/// endlessly.
const MOVE_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct ClusterStore {
    pub(super) map: Mutex<Arc<SlotMap>>,
    seeds: String,
    pub(super) closed: AtomicBool,
    pub(super) work: Mutex<Work>,
    pub(super) has_work: Notify,
}

#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) refresh: bool,
    pub(super) changed: bool,
    /// Nodes for whose names the member should resend all requests.
    pub(super) ask_again: HashSet<Node>,
    pub(super) connect: HashSet<Address>,
    pub(super) surveyed: Option<Result<Topology, SetupError>>,
}

impl ClusterStore {
    pub(super) fn new(seeds: String) -> Self {
        Self {
            seeds,
            map: Mutex::new(Arc::new(SlotMap::new(Vec::new()))),
            closed: AtomicBool::new(false),
            work: Mutex::default(),
            has_work: Notify::new(),
        }
    }

    pub(super) fn map(&self) -> Arc<SlotMap> {
        lock(&self.map).clone()
    }

    pub(super) fn schedule(&self, add: impl FnOnce(&mut Work)) {
        add(&mut lock(&self.work));
        self.has_work.notify_one();
    }

    /// Returns the request if it must wait.
    ///
    /// All pending requests for the slot are at `from`, which answers them in order, so the first redirected request is
    /// the oldest. Other threads see `to` in the map only after that request was submitted to `to`.
    pub(super) fn follow_move(
        &self,
        slot: Slot,
        from: &Arc<Primary>,
        to: &Arc<Primary>,
        request: Request,
    ) -> Option<Request> {
        let mut current = lock(&self.map);
        let now = clock::now();
        let moved = current.moved.get(&slot);
        let again = moved.is_some_and(|moved| moved.after(MOVE_INTERVAL) > now);
        if again || !current.is_at(slot, from) {
            return Some(request);
        }
        let mut map = SlotMap::clone(&current);
        map.note_moved(slot, to, now);
        *current = Arc::new(map);
        let refused = to.store.submit(request);
        drop(current);
        to.store.flush();
        refused.map(|answer| answer.request)
    }
}

impl Store for ClusterStore {
    fn guarantees(&self) -> Guarantees {
        let map = self.map();
        let primaries = map.primaries().iter();
        Guarantees::weakest(primaries.map(|primary| primary.store.guarantees()))
    }

    fn submit(&self, mut request: Request) -> Option<Answer> {
        let slot = Slot::of(&request.name);
        let busy = |request, why| Some(busy(request, &StoreError::disconnected(why)));
        let mut last: Option<Arc<Primary>> = None;
        loop {
            let map = self.map();
            if map.primaries().is_empty() {
                return Some(request.unsent());
            }
            let Some(primary) = map.primary(slot) else {
                return busy(request, "no node of the cluster serves this slot");
            };
            if last.is_some_and(|last| Arc::ptr_eq(&last, primary)) {
                return busy(request, "the node is being dropped");
            }
            let answer = primary.store.submit(request)?;
            if self.closed.load(Ordering::Acquire) {
                return Some(answer);
            }
            // The node no longer serves any slot, because a new map was set in between.
            last = Some(primary.clone());
            request = answer.request;
        }
    }

    fn servers(&self) -> Vec<ServerHealth> {
        let map = self.map();
        if map.primaries().is_empty() {
            let seeds = self.seeds.clone();
            return vec![ServerHealth::new(seeds, Some(not_yet()), None)];
        }
        let primaries = map.primaries().iter();
        primaries.flat_map(|primary| primary.servers()).collect()
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
        self.has_work.notify_one();
    }

    fn node(&self, name: &Name) -> Node {
        let map = self.map();
        map.primary(Slot::of(name))
            .map_or(NOWHERE, |primary| primary.node)
    }
}

pub(super) fn busy(request: Request, why: &StoreError) -> Answer {
    request.failed(why.as_kind(StoreErrorKind::Busy))
}
