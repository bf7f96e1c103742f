//! The constants of the show.

use std::time::Duration;

/// The number of workers.
pub(crate) const WORKERS: usize = 3;
/// The worker that is killed, counted from 0.
pub(crate) const VICTIM: usize = 1;
/// Short, so that the take-over comes soon.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
/// The longest time that a thread may hold the lock: it frees the lock of an abandoned thread.
pub(crate) const EXPIRE_OF_THREADS: Duration = Duration::from_secs(4);
/// The longest time that a process may hold the lock. The lock of a killed process is freed earlier, by the end of its
/// lease.
pub(crate) const EXPIRE_OF_PROCESSES: Duration = Duration::from_secs(60);
/// The shortest length of the show.
pub(crate) const LENGTH: Duration = Duration::from_secs(10);
/// After this time, the victim's next call is its last.
pub(crate) const KILL_AFTER: Duration = Duration::from_secs(3);
/// The time that the victim is inside before it is killed.
pub(crate) const INSIDE_BEFORE_KILL: Duration = Duration::from_millis(700);
/// The time that the show continues after the take-over.
pub(crate) const AFTERMATH: Duration = Duration::from_secs(2);
/// A show that is longer than this has failed.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// The length of the show without the lock.
pub(crate) const UNPROTECTED_LENGTH: Duration = Duration::from_secs(4);

/// The fate of the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The process gets SIGKILL.
    Killed,
    /// The thread, which cannot be killed, stops polling its call and never releases the lock.
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
    /// The workers use the lock.
    Lock,
    /// The workers use no lock: the witness must notice overlaps.
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
