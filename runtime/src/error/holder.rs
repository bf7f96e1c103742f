//! [`Holder`]: who holds a lock.

use std::fmt;
use std::time::SystemTime;

use super::kind::{LockKind, RW_LOCK};

/// A holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The machine's host name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The place in the program: the path of an annotated function, or the name that a handle was given; then ` at
    /// file:line`.
    pub site: String,
    /// Since when, by the store's clock.
    pub since: SystemTime,
    /// The owner that its handle or attribute names: see [`Mutex::owner`](crate::Mutex::owner).
    pub owner: Option<String>,
    /// What it holds. `None` in an error: the store says it only when it is asked, as by `info`.
    pub kind: Option<HoldKind>,
    /// How many units it holds: 1 of a mutex, its permits of a semaphore, 1 for a reader. A writer holds all 2^30.
    /// `None` as for `kind`.
    pub units: Option<u32>,
    /// The complete names of the locks that its task held when it asked for this one: the outermost eight at most, and a
    /// kilobyte of names. A task holds what a protected call around it holds: an annotated function, or `synchronize`.
    pub holds: Vec<String>,
}

impl Holder {
    /// The file of [`site`](Self::site), as the compiler got it.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        Some(place(&self.site)?.0)
    }

    /// The line of [`site`](Self::site).
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        Some(place(&self.site)?.1)
    }
}

/// The file and the line in a site.
pub(crate) fn place(site: &str) -> Option<(&str, u32)> {
    let (file, line) = site.rsplit_once(" at ")?.1.rsplit_once(':')?;
    Some((file, line.parse().ok()?))
}

/// What a caller holds, or waits for.
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
}

impl HoldKind {
    /// The kind of `units` of a name of this capacity; see [`LockKind::of`].
    pub(crate) fn of(capacity: u32, takes_token: bool, units: u32) -> Self {
        match LockKind::of(capacity, takes_token) {
            LockKind::Mutex => Self::Mutex,
            LockKind::Semaphore => Self::Permit,
            LockKind::RwLock if units == RW_LOCK => Self::Writer,
            LockKind::RwLock => Self::Reader,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Permit => "permit",
        }
    }
}

impl fmt::Display for HoldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {} on {})", self.site, self.pid, self.host)
    }
}
