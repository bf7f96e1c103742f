//! The numbers of the show.

use std::time::Duration;

/// How many workers there are.
pub(crate) const WORKERS: usize = 3;
/// Who is killed, counted from 0.
pub(crate) const VICTIM: usize = 1;
/// Short, so that the take-over is seen soon.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
/// How long a thread may hold the lock: what ends an abandoned one.
pub(crate) const EXPIRE_OF_THREADS: Duration = Duration::from_secs(4);
/// How long a process may. Its death is the lease's business.
pub(crate) const EXPIRE_OF_PROCESSES: Duration = Duration::from_secs(60);
/// How long it lasts at least.
pub(crate) const LENGTH: Duration = Duration::from_secs(10);
/// From when on the victim's next call is its last.
pub(crate) const KILL_AFTER: Duration = Duration::from_secs(3);
/// How long the victim is inside before it is killed.
pub(crate) const INSIDE_BEFORE_KILL: Duration = Duration::from_millis(700);
/// How long it goes on after the take-over.
pub(crate) const AFTERMATH: Duration = Duration::from_secs(2);
/// Something is wrong if it is not over by then.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// How long it lasts without the lock.
pub(crate) const UNPROTECTED_LENGTH: Duration = Duration::from_secs(4);

/// What happens to the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its process gets SIGKILL.
    Killed,
    /// Its thread, which cannot be killed, is left where it is.
    Abandoned,
}

impl Fate {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Whether the workers use the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// They do.
    Lock,
    /// They do not: the witness must notice.
    None,
}

impl Protection {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::None => "none",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "lock" => Some(Self::Lock),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}
