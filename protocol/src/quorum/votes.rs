//! [`Votes`]: each node's answer to a request, and how many nodes are enough.

use alloc::vec::Vec;

use crate::{LockKind, NameRecord, Reply, Share, StoreError, StoreErrorKind};

/// Any two majorities have a node in common.
#[inline]
pub fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// If each holder of one unit needs `q` nodes, `capacity + 1` holders must need more units than all nodes have: `q *
/// (capacity + 1) > capacity * nodes`. Every reader must share a node with every writer.
#[inline]
pub(super) fn needed(nodes: usize, share: &Share) -> usize {
    let majority = majority(nodes);
    if share.kind != LockKind::Semaphore {
        return majority;
    }
    let capacity = share.capacity as usize;
    (capacity * nodes / (capacity + 1) + 1).max(majority)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Vote {
    None,
    Unanswered,
    Answered(Result<Reply, StoreError>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Votes(Vec<Vote>);

impl Votes {
    #[inline]
    pub(super) fn new(nodes: usize) -> Self {
        Self((0..nodes).map(|_| Vote::None).collect())
    }

    pub(super) fn of_records(
        records: impl IntoIterator<Item = Option<Result<NameRecord, StoreError>>>,
    ) -> Self {
        let vote = |record: Option<Result<NameRecord, StoreError>>| match record {
            Some(record) => Vote::Answered(record.map(Reply::Info)),
            None => Vote::None,
        };
        Self(records.into_iter().map(vote).collect())
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn ask(&mut self, node: usize) {
        self.0[node] = Vote::Unanswered;
    }

    #[inline]
    pub(super) fn put(&mut self, node: usize, result: Result<Reply, StoreError>) {
        self.0[node] = Vote::Answered(result);
    }

    #[inline]
    pub(super) fn of(&self, node: usize) -> &Vote {
        &self.0[node]
    }

    #[inline]
    pub(super) fn reply(&self, node: usize) -> Option<&Reply> {
        match &self.0[node] {
            Vote::Answered(Ok(reply)) => Some(reply),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn count(&self, which: impl Fn(&Reply) -> bool) -> usize {
        self.replies().filter(|reply| which(reply)).count()
    }

    #[inline]
    pub(super) fn unanswered(&self) -> usize {
        let is_open = |vote: &&Vote| matches!(vote, Vote::Unanswered);
        self.0.iter().filter(is_open).count()
    }

    #[inline]
    pub(super) fn answered(&self) -> usize {
        self.replies().count()
    }

    #[inline]
    pub(super) fn replies(&self) -> impl Iterator<Item = &Reply> + Clone {
        (0..self.len()).filter_map(|node| self.reply(node))
    }

    #[inline]
    pub(super) fn errors(&self) -> impl Iterator<Item = &StoreError> {
        self.0.iter().filter_map(|vote| match vote {
            Vote::Answered(Err(error)) => Some(error),
            _ => None,
        })
    }

    /// The best cause to report: preferably neither a lost connection nor a busy server.
    pub(super) fn trouble(&self) -> Option<&StoreError> {
        let is_cause =
            |error: &&StoreError| !error.is_disconnected() && error.kind() != StoreErrorKind::Busy;
        self.errors().find(is_cause)
    }
}

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

#[inline]
pub(super) fn is_granted(reply: &Reply) -> bool {
    matches!(reply, Reply::Granted { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most holders of one unit, if each holds one on `each` nodes, and a node has `capacity` units.
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
