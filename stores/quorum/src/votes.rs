//! [`Votes`]: each node's answer to one request, and how many nodes are enough.

use auto_mutex_core::store::{Reply, Share, StoreErrorKind};
use auto_mutex_core::{LockKind, StoreError};

/// Returns the size of a majority. Any two majorities have a node in common.
pub(super) fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// How many nodes must have granted `share` before it is held.
///
/// If each holder of one unit needs `q` nodes, `capacity + 1` holders must need more units than all nodes have:
/// `q * (capacity + 1) > capacity * nodes`. For a mutex, that's a majority. Readers and writers need a majority too: then
/// each reader has a node in common with each writer.
pub(super) fn needed(nodes: usize, share: &Share) -> usize {
    let majority = majority(nodes);
    if share.kind != LockKind::Semaphore {
        return majority;
    }
    let capacity = share.capacity as usize;
    (capacity * nodes / (capacity + 1) + 1).max(majority)
}

#[derive(Debug)]
pub(super) enum Vote {
    None,
    Unanswered,
    Answered(Reply),
    /// There is no reply: the request did not run, or it is unknown whether it ran.
    Failed(StoreError),
}

#[derive(Debug, Default)]
pub(super) struct Votes(Vec<Vote>);

impl Votes {
    pub(super) fn new(nodes: usize) -> Self {
        Self((0..nodes).map(|_| Vote::None).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn ask(&mut self, node: usize) {
        self.0[node] = Vote::Unanswered;
    }

    pub(super) fn put(&mut self, node: usize, result: Result<Reply, StoreError>) {
        self.0[node] = match result {
            Ok(reply) => Vote::Answered(reply),
            Err(error) => Vote::Failed(error),
        };
    }

    pub(super) fn of(&self, node: usize) -> &Vote {
        &self.0[node]
    }

    pub(super) fn count(&self, which: impl Fn(&Reply) -> bool) -> usize {
        self.replies().filter(|reply| which(reply)).count()
    }

    pub(super) fn unanswered(&self) -> usize {
        let unanswered = |vote: &&Vote| matches!(vote, Vote::Unanswered);
        self.0.iter().filter(unanswered).count()
    }

    pub(super) fn answered(&self) -> usize {
        self.replies().count()
    }

    pub(super) fn replies(&self) -> impl Iterator<Item = &Reply> + Clone {
        self.0.iter().filter_map(|vote| match vote {
            Vote::Answered(reply) => Some(reply),
            _ => None,
        })
    }

    pub(super) fn failed(&self) -> usize {
        let failed = |vote: &&Vote| matches!(vote, Vote::Failed(_));
        self.0.iter().filter(failed).count()
    }

    /// Returns an error that is neither a lost connection nor a busy server: the best cause to report.
    pub(super) fn trouble(&self) -> Option<&StoreError> {
        let mut errors = self.0.iter().filter_map(|vote| match vote {
            Vote::Failed(error) => Some(error),
            _ => None,
        });
        errors.find(|error| !error.is_disconnected() && error.kind() != StoreErrorKind::Busy)
    }
}

/// Returns an item with the most frequent `key`, and the number of items with that key.
pub(super) fn most_frequent<T, K: PartialEq>(
    items: impl Iterator<Item = T> + Clone,
    key: impl Fn(&T) -> K,
) -> Option<(T, usize)> {
    let keys = items.clone().map(|item| key(&item));
    let counted = items.map(|item| {
        let own = key(&item);
        (item, keys.clone().filter(|other| *other == own).count())
    });
    counted.max_by_key(|(_, count)| *count)
}

pub(super) fn is_granted(reply: &Reply) -> bool {
    matches!(reply, Reply::Granted { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maximum number of holders of one unit, if each holds a unit on `each` nodes and a node has `capacity` units.
    fn holders(nodes: usize, capacity: usize, each: usize) -> usize {
        nodes * capacity / each
    }

    #[test]
    fn what_is_needed_is_enough_and_one_less_is_not() {
        for nodes in (3..=15).step_by(2) {
            for capacity in 1..40 {
                let q = needed(nodes, &Share::permits(1, capacity as u32));
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
        let five = |units, permits| needed(5, &Share::permits(units, permits));
        assert_eq!(
            [five(1, 1), five(1, 2), five(1, 4), five(2, 5), five(1, 100)],
            [3, 4, 5, 5, 5]
        );
        for share in [
            Share::MUTEX,
            Share::READER,
            Share::WRITER,
            Share::NOTIFICATION,
        ] {
            assert_eq!(needed(5, &share), 3, "{share:?}");
        }
    }
}
