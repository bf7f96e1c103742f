//! The locks that the faults are tried on.

/// One kind of lock, and the contest for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) name: &'static str,
    /// The kind, in the format of the worker's `contest`.
    pub(crate) contest: &'static str,
}

impl Lock {
    pub(crate) const ALL: &[Self] = &[
        Self::of("mutex", "mutex"),
        Self::of("semaphore", "semaphore:3"),
        Self::of("readers-writer lock", "rw"),
        Self::of("several names", "multi:3"),
        Self::of("condition variable", "handoff:2"),
        Self::of("kept mutex", "kept:2"),
        Self::of("leader", "lead"),
    ];

    const fn of(name: &'static str, contest: &'static str) -> Self {
        Self { name, contest }
    }

    /// Whether the contest is for a mutex that is kept between calls.
    pub(crate) fn is_kept(self) -> bool {
        self.contest.starts_with("kept")
    }

    /// Whether only the faults that harm a keeper are tried.
    pub(crate) fn is_narrow(self) -> bool {
        self.is_kept() || self.contest == "lead"
    }

    /// Whether the contest is for a belt.
    pub(crate) fn is_belt(self) -> bool {
        self.contest.starts_with("handoff")
    }
}
