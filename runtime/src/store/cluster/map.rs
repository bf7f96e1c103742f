//! [`Map`]: which node serves which slot.

use std::sync::Arc;

use super::primary::Primary;
use super::slot::Slot;
use crate::config::Address;

/// Slot → primary. Changed by making a new one.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// Indexes of `primaries`.
    slots: Vec<u16>,
    /// Those without a slot too.
    primaries: Vec<Arc<Primary>>,
}

const NOBODY: u16 = u16::MAX;

impl Map {
    /// Nobody serves anything. (There are not more nodes than slots.)
    pub(super) fn new(primaries: Vec<Arc<Primary>>) -> Self {
        Self {
            slots: vec![NOBODY; usize::from(Slot::COUNT)],
            primaries,
        }
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

    /// From now on `primary`, one of those of this map, serves the slots.
    pub(super) fn set(&mut self, slots: impl IntoIterator<Item = Slot>, primary: &Arc<Primary>) {
        let Some(index) = self.index(primary) else {
            return;
        };
        for slot in slots {
            self.slots[usize::from(slot.0)] = index;
        }
    }

    /// Whether every slot is served.
    pub(super) fn is_complete(&self) -> bool {
        !self.slots.contains(&NOBODY)
    }

    /// Whether `primary` serves the slot.
    pub(super) fn is_at(&self, slot: Slot, primary: &Arc<Primary>) -> bool {
        self.primary(slot)
            .is_some_and(|other| Arc::ptr_eq(other, primary))
    }

    /// Whether `primary` serves any slot.
    pub(super) fn serves(&self, primary: &Arc<Primary>) -> bool {
        let index = self.index(primary);
        index.is_some_and(|index| self.slots.contains(&index))
    }

    /// Drops the nodes that are not among `primaries`; they serve nothing.
    pub(super) fn keep(&mut self, primaries: Vec<Arc<Primary>>) {
        let old = std::mem::replace(self, Self::new(primaries));
        for slot in (0..Slot::COUNT).map(Slot) {
            if let Some(primary) = old.primary(slot) {
                self.set([slot], primary);
            }
        }
    }

    fn index(&self, primary: &Arc<Primary>) -> Option<u16> {
        let mut all = self.primaries.iter();
        let index = all.position(|other| Arc::ptr_eq(other, primary))?;
        index.try_into().ok()
    }
}
