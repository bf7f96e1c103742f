//! [`LockKind`]: the kind of lock that a name has.

use std::fmt;

/// The capacity of a readers-writer lock: a reader takes one unit, a writer all of them.
pub const RW_LOCK: u32 = 1 << 30;

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LockKind {
    /// A [`Mutex`](crate::Mutex), `#[auto_mutex]`, or a lock of a [`MultiLock`](crate::MultiLock).
    Mutex,
    /// A [`Semaphore`](crate::Semaphore), or `#[auto_semaphore]`.
    Semaphore,
    /// A [`RwLock`](crate::RwLock), `#[auto_read]` or `#[auto_write]`.
    RwLock,
    /// A [`Condvar`](crate::Condvar).
    Condvar,
    /// The seat of a [`Leader`](crate::Leader), or `#[auto_leader]`.
    Leader,
}

impl LockKind {
    /// The kind for a capacity, and for whether the tickets accept tokens. A condition variable looks like a semaphore
    /// without permits, and a leader's seat like a mutex.
    #[doc(hidden)]
    pub fn of(capacity: u32, takes_token: bool) -> Self {
        match capacity {
            1 if !takes_token => Self::Mutex,
            RW_LOCK => Self::RwLock,
            _ => Self::Semaphore,
        }
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mutex => "mutex",
            Self::Semaphore => "semaphore",
            Self::RwLock => "readers-writer lock",
            Self::Condvar => "condition variable",
            Self::Leader => "leader",
        })
    }
}
