//! [`draw`]: the next map.

use std::collections::HashSet;
use std::sync::Arc;

use super::map::Map;
use super::primary::Primary;
use super::slot::Slot;
use super::store::Turned;
use super::view::View;
use crate::store::Node;

/// A map, and what follows from it.
pub(super) struct Drawn {
    pub(super) map: Map,
    /// Nodes that are not in the map any more.
    pub(super) useless: Vec<Arc<Primary>>,
    /// Nodes that took over from others that will not answer what they were asked.
    pub(super) adrift: HashSet<Node>,
}

/// What `view` says, corrected by what was heard since (`turned`). A slot goes to a new node when that is there, or
/// cannot be reached: until then the old one answers, that it is elsewhere or not at all.
pub(super) fn draw(old: &Map, view: &View, turned: &Turned, primaries: Vec<Arc<Primary>>) -> Drawn {
    let mut map = Map::new(primaries);
    for (first, last, address) in &view.ranges {
        let Some(said) = map.find(address).cloned() else {
            continue;
        };
        let stays = |slot: &Slot| said.is_new() && old.primary(*slot).is_some();
        let all = || (first.0..=last.0).map(Slot);
        map.set(all().filter(|slot| !stays(slot)), &said);
        for slot in all().filter(stays) {
            if let Some(current) = old.primary(slot).cloned() {
                map.set([slot], &current);
            }
        }
    }
    for (slot, (primary, _)) in turned {
        map.set([*slot], primary);
    }
    let (useful, useless): (Vec<_>, Vec<_>) = map
        .primaries()
        .iter()
        .cloned()
        .partition(|primary| said(view, primary) || map.serves(primary) || primary.is_wanted());
    let mut adrift = HashSet::new();
    for slot in (0..Slot::COUNT).map(Slot) {
        if let (Some(before), Some(now)) = (old.primary(slot), map.primary(slot)) {
            let lost = !before.is_up() || useless.iter().any(|other| Arc::ptr_eq(other, before));
            if lost && !Arc::ptr_eq(before, now) {
                adrift.insert(now.node);
            }
        }
    }
    if !useless.is_empty() {
        map.keep(useful);
    }
    Drawn {
        map,
        useless,
        adrift,
    }
}

/// Whether it will serve slots as soon as it is there.
fn said(view: &View, primary: &Primary) -> bool {
    let mut ranges = view.ranges.iter();
    ranges.any(|(_, _, address)| *address == primary.address)
}
