//! [`SlotMap`]: which node serves which slot.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use auto_mutex_core::store::{Address, Instant, Node};

use super::primary::Primary;
use super::slot::Slot;
use super::topology::Topology;

/// Immutable: a change makes a new map.
#[derive(Clone, Debug)]
pub(super) struct SlotMap {
    slots: Vec<u16>,
    primaries: Vec<Arc<Primary>>,
    moved: HashMap<Slot, Instant>,
}

const NOBODY: u16 = u16::MAX;

impl SlotMap {
    /// An index of `primaries` fits `u16`, because there are at most as many primaries as slots.
    pub(super) fn new(primaries: Vec<Arc<Primary>>) -> Self {
        Self {
            slots: vec![NOBODY; usize::from(Slot::COUNT)],
            primaries,
            moved: HashMap::new(),
        }
    }

    /// The map for `topology`, which was requested at `seen`, corrected by later redirects. A new node gets its slots once
    /// it is connected or known to be unreachable; until then the old node keeps them.
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
            let slots = || (first.0..=last.0).map(Slot);
            map.set(slots(), &serving);
            if serving.is_new() {
                map.copy(slots(), self);
            }
        }
        let moved = self.moved.iter().filter(|(_, at)| **at >= seen);
        map.moved = moved.map(|(slot, at)| (*slot, *at)).collect();
        let moved: Vec<_> = map.moved.keys().copied().collect();
        map.copy(moved, self);
        let mut useful = map.primaries.clone();
        useful.retain(|primary| {
            let mut serving = topology.primaries();
            let is_named = serving.any(|address| *address == primary.address);
            is_named || map.serves(primary) || primary.is_wanted()
        });
        if useful.len() < map.primaries.len() {
            let all = std::mem::replace(&mut map, Self::new(useful));
            map.copy((0..Slot::COUNT).map(Slot), &all);
            map.moved = all.moved;
        }
        map
    }

    /// The nodes that took over slots from lost nodes, where pending requests get no answer.
    pub(super) fn taken_over(&self, old: &Self) -> HashSet<Node> {
        let changed = (0..Slot::COUNT).map(Slot).filter_map(|slot| {
            let (before, now) = (old.primary(slot)?, self.primary(slot)?);
            (!Arc::ptr_eq(before, now)).then_some((before, now))
        });
        let lost = changed.filter(|(before, _)| !before.is_up() || !self.has(before));
        lost.map(|(_, now)| now.node).collect()
    }

    pub(super) fn primary(&self, slot: Slot) -> Option<&Arc<Primary>> {
        self.primaries
            .get(usize::from(self.slots[usize::from(slot.0)]))
    }

    pub(super) fn primaries(&self) -> &[Arc<Primary>] {
        &self.primaries
    }

    pub(super) fn find(&self, address: &Address) -> Option<&Arc<Primary>> {
        self.primaries
            .iter()
            .find(|primary| primary.address == *address)
    }

    pub(super) fn set(&mut self, slots: impl IntoIterator<Item = Slot>, primary: &Arc<Primary>) {
        let Some(index) = self.index(primary) else {
            return;
        };
        for slot in slots {
            self.slots[usize::from(slot.0)] = index;
        }
    }

    fn copy(&mut self, slots: impl IntoIterator<Item = Slot>, other: &Self) {
        for slot in slots {
            if let Some(primary) = other.primary(slot) {
                self.set([slot], primary);
            }
        }
    }

    pub(super) fn note_moved(&mut self, slot: Slot, to: &Arc<Primary>, now: Instant) {
        self.set([slot], to);
        self.moved.insert(slot, now);
    }

    pub(super) fn moved_at(&self, slot: Slot) -> Option<Instant> {
        self.moved.get(&slot).copied()
    }

    pub(super) fn is_complete(&self) -> bool {
        !self.slots.contains(&NOBODY)
    }

    pub(super) fn is_at(&self, slot: Slot, primary: &Arc<Primary>) -> bool {
        self.primary(slot)
            .is_some_and(|other| Arc::ptr_eq(other, primary))
    }

    fn serves(&self, primary: &Arc<Primary>) -> bool {
        let index = self.index(primary);
        index.is_some_and(|index| self.slots.contains(&index))
    }

    pub(super) fn has(&self, primary: &Arc<Primary>) -> bool {
        self.index(primary).is_some()
    }

    fn index(&self, primary: &Arc<Primary>) -> Option<u16> {
        let mut all = self.primaries.iter();
        let index = all.position(|other| Arc::ptr_eq(other, primary))?;
        index.try_into().ok()
    }
}
