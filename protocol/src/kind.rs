//! [`LockKind`]: the kind of lock that a name has. [`HoldKind`]: the kind of hold that a ticket has.

use core::fmt;

/// The capacity of a readers-writer lock: a reader takes one unit, a writer all of them.
pub const RW_LOCK: u32 = 1 << 30;

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LockKind {
    /// A `Mutex`, `#[auto_mutex]`, or a lock of a `MultiLock`.
    Mutex,
    /// A `Semaphore`, or `#[auto_semaphore]`.
    Semaphore,
    /// A `RwLock`, `#[auto_read]` or `#[auto_write]`.
    RwLock,
    /// A `Condvar`.
    Condvar,
    /// The seat of a `Leader`, or `#[auto_leader]`.
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

/// The kind of a hold, or of a waiter's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HoldKind {
    /// A mutex.
    Mutex,
    /// A readers-writer lock, for reading.
    Reader,
    /// A readers-writer lock, for writing.
    Writer,
    /// Permits of a semaphore, or one of its tokens.
    Permit,
    /// A leader's seat.
    Leader,
}

impl HoldKind {
    /// All of them.
    #[doc(hidden)]
    pub const ALL: [Self; 5] = [
        Self::Mutex,
        Self::Permit,
        Self::Reader,
        Self::Writer,
        Self::Leader,
    ];

    /// The kind of hold that this many units of such a lock make.
    #[doc(hidden)]
    pub fn of(lock: LockKind, units: u32) -> Self {
        match lock {
            LockKind::Mutex => Self::Mutex,
            LockKind::Leader => Self::Leader,
            LockKind::Semaphore | LockKind::Condvar => Self::Permit,
            LockKind::RwLock if units == RW_LOCK => Self::Writer,
            LockKind::RwLock => Self::Reader,
        }
    }

    /// Its name in one word: of a permit, that of its lock.
    #[doc(hidden)]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Permit => "semaphore",
            Self::Leader => "leader",
        }
    }
}

impl fmt::Display for HoldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
