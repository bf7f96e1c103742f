//! [`Votes`]: what each node has said to one question.

use crate::error::{StoreError, StoreErrorKind};
use crate::store::Reply;

#[derive(Debug)]
pub(super) enum Vote {
    /// It was not asked.
    None,
    Awaited,
    Said(Reply),
    /// It did not run, or nobody knows.
    Failed(StoreError),
}

#[derive(Debug)]
pub(super) struct Votes(Vec<Vote>);

impl Votes {
    pub(super) fn new(nodes: usize) -> Self {
        Self((0..nodes).map(|_| Vote::None).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn ask(&mut self, node: usize) {
        self.0[node] = Vote::Awaited;
    }

    pub(super) fn put(&mut self, node: usize, result: Result<Reply, StoreError>) {
        self.0[node] = match result {
            Ok(reply) => Vote::Said(reply),
            Err(error) => Vote::Failed(error),
        };
    }

    pub(super) fn of(&self, node: usize) -> &Vote {
        &self.0[node]
    }

    pub(super) fn count(&self, which: impl Fn(&Reply) -> bool) -> usize {
        self.replies().filter(|reply| which(reply)).count()
    }

    pub(super) fn awaited(&self) -> usize {
        let awaited = |vote: &&Vote| matches!(vote, Vote::Awaited);
        self.0.iter().filter(awaited).count()
    }

    /// How many have answered, whatever it was.
    pub(super) fn said(&self) -> usize {
        self.replies().count()
    }

    pub(super) fn replies(&self) -> impl Iterator<Item = &Reply> + Clone {
        self.0.iter().filter_map(|vote| match vote {
            Vote::Said(reply) => Some(reply),
            _ => None,
        })
    }

    /// What a server said is wrong, beside that it is not there: the best cause to tell.
    pub(super) fn trouble(&self) -> Option<&StoreError> {
        let mut errors = self.0.iter().filter_map(|vote| match vote {
            Vote::Failed(error) => Some(error),
            _ => None,
        });
        errors.find(|error| !error.is_disconnected() && error.kind() != StoreErrorKind::Busy)
    }
}

pub(super) fn is_granted(reply: &Reply) -> bool {
    matches!(reply, Reply::Granted { .. })
}
