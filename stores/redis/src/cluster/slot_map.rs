//! [`SlotMap`]: which node serves which slot.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use auto_mutex_seam::store::{Address, Instant, Node};

use super::primary::Primary;
use super::slot::Slot;
use super::topology::Topology;

/// Immutable. Changes make a new map.
#[derive(Clone)]
pub(super) struct SlotMap {
    slots: Vec<Option<Arc<Primary>>>,
    primaries: Vec<Arc<Primary>>,
    /// When slots were redirected.
    pub(super) moved: HashMap<Slot, Instant>,
}

impl SlotMap {
    pub(super) fn new(primaries: Vec<Arc<Primary>>) -> Self {
        Self {
            slots: vec![None; usize::from(Slot::COUNT)],
            primaries,
            moved: HashMap::new(),
        }
    }

    /// The map for `topology`, requested at `seen`, with later redirects applied. A new node gets its slots once it is
    /// connected or known to be unreachable. Until then the old node keeps them.
    pub(super) fn next(
        &self,
        topology: &Topology,
        seen: Instant,
        primaries: Vec<Arc<Primary>>,
    ) -> Self {
        let mut map = Self::new(primaries);
        for (first, last, address) in &topology.ranges {
            let Some(serving) = map.find(address).cloned() else {
                continue;
            };
            for slot in (first.0..=last.0).map(Slot) {
                let old = self.primary(slot).filter(|_| serving.is_new());
                map.set(slot, old.unwrap_or(&serving));
            }
        }
        for (&slot, &at) in self.moved.iter().filter(|(_, at)| **at >= seen) {
            if let Some(to) = self.primary(slot) {
                map.note_moved(slot, to, at);
            }
        }
        let slots = &map.slots;
        map.primaries.retain(|primary| {
            let is_named = topology.primaries().any(|it| *it == primary.address);
            let mut serving = slots.iter().flatten();
            is_named || primary.is_wanted() || serving.any(|it| Arc::ptr_eq(it, primary))
        });
        map
    }

    /// The nodes that took over slots from lost nodes, where pending requests will not be answered.
    pub(super) fn taken_over(&self, old: &Self) -> HashSet<Node> {
        let changed = (0..Slot::COUNT).map(Slot).filter_map(|slot| {
            let (before, now) = (old.primary(slot)?, self.primary(slot)?);
            (!Arc::ptr_eq(before, now)).then_some((before, now))
        });
        let lost = changed.filter(|(before, _)| !before.is_up() || !self.has(before));
        lost.map(|(_, now)| now.node).collect()
    }

    pub(super) fn primary(&self, slot: Slot) -> Option<&Arc<Primary>> {
        self.slots[usize::from(slot.0)].as_ref()
    }

    pub(super) fn primaries(&self) -> &[Arc<Primary>] {
        &self.primaries
    }

    pub(super) fn find(&self, address: &Address) -> Option<&Arc<Primary>> {
        self.primaries
            .iter()
            .find(|primary| primary.address == *address)
    }

    pub(super) fn set(&mut self, slot: Slot, primary: &Arc<Primary>) {
        self.slots[usize::from(slot.0)] = Some(primary.clone());
    }

    pub(super) fn note_moved(&mut self, slot: Slot, to: &Arc<Primary>, now: Instant) {
        self.set(slot, to);
        self.moved.insert(slot, now);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.slots.iter().all(Option::is_some)
    }

    pub(super) fn is_at(&self, slot: Slot, primary: &Arc<Primary>) -> bool {
        self.primary(slot)
            .is_some_and(|other| Arc::ptr_eq(other, primary))
    }

    pub(super) fn has(&self, primary: &Arc<Primary>) -> bool {
        self.primaries.iter().any(|it| Arc::ptr_eq(it, primary))
    }
}
