//! The locks that a caller holds.

use std::sync::Arc;

use crate::lease::Bounds;
use crate::queue::Hold;

/// A lock that a task holds, and the bounds of the body that has it.
#[derive(Clone, Debug)]
pub(super) struct HeldLock {
    pub(super) hold: Arc<Hold>,
    pub(super) bounds: Bounds,
}

/// The locks of a caller, the outermost first. Most callers have none, and most others have one: these lists allocate
/// nothing.
#[derive(Debug, Default)]
pub(super) struct HeldLocks {
    first: Option<HeldLock>,
    others: Vec<HeldLock>,
}

impl HeldLocks {
    #[inline]
    pub(super) fn push(&mut self, lock: HeldLock) {
        match &self.first {
            None => self.first = Some(lock),
            Some(_) => self.others.push(lock),
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &HeldLock> + Clone {
        self.first.iter().chain(&self.others)
    }
}
