//! How many nodes are enough.

use crate::store::Share;

/// Any two of these meet in a node.
pub(super) fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// How many nodes must have granted `share` before it is held.
///
/// A node has `capacity` units, so no unit of the whole is given twice if the holders' nodes do not fit: with `q` nodes
/// each, `capacity + 1` holders of one unit would need more than all nodes have, `q * (capacity + 1) > capacity * nodes`.
/// A mutex needs a majority so. Readers and writers do too, whatever the capacity: a reader meets a writer in a node.
pub(super) fn needed(nodes: usize, share: &Share) -> usize {
    let majority = majority(nodes);
    if share.capacity == 0 || share.capacity >= SHARED_BY_ALL {
        return majority;
    }
    let capacity = share.capacity as usize;
    (capacity * nodes / (capacity + 1) + 1).max(majority)
}

/// No semaphore has so many permits: it is a readers-writer lock, which only the writers fill.
const SHARED_BY_ALL: u32 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    /// The most holders of one unit that there can be, if each has `each` nodes of `capacity`.
    fn holders(nodes: usize, capacity: usize, each: usize) -> usize {
        nodes * capacity / each
    }

    #[test]
    fn what_is_needed_is_enough_and_one_less_is_not() {
        for nodes in (3..=15).step_by(2) {
            for capacity in 1..40 {
                let q = needed(nodes, &Share::of(1, capacity as u32));
                assert!(q <= nodes && q >= majority(nodes));
                assert_eq!(holders(nodes, capacity, q).max(capacity), capacity);
                assert!(
                    holders(nodes, capacity, q - 1) > capacity,
                    "{nodes} {capacity} {q}"
                );
            }
        }
    }

    #[test]
    fn locks_need_a_majority_and_semaphores_more() {
        let five = |units, capacity| needed(5, &Share::of(units, capacity));
        assert_eq!(
            [five(1, 1), five(1, 2), five(1, 4), five(2, 5), five(1, 100)],
            [3, 4, 5, 5, 5]
        );
        assert_eq!(
            [five(1, 1 << 30), five(1 << 30, 1 << 30), five(1, 0)],
            [3; 3]
        );
    }
}
