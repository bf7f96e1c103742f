//! What the capacity of a name says about the kind of lock that it is.

use std::fmt;

/// The capacity of a mutex.
pub(crate) const MUTEX: u32 = 1;
/// The capacity of a readers-writer lock: a reader takes one unit, a writer all.
pub(crate) const RW_LOCK: u32 = 1 << 30;

/// A lock of this capacity, in words.
pub(super) struct Kind(pub(super) u32);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            MUTEX => f.write_str("a mutex"),
            RW_LOCK => f.write_str("a readers-writer lock"),
            permits => write!(f, "a semaphore of {permits} permits"),
        }
    }
}
