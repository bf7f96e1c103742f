//! The rules of a run: what may happen in it, and which rules of leading it leaves out.

/// A rule of leading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Safeguard {
    /// The body is told when the validity has fallen to `stop_within`, not when it has ended.
    TellEarly,
    /// Once a term is over, it stays over, although a later renewal succeeds.
    StaysOver,
    /// The lock is released only after the body has ended.
    ReleaseAfterEnd,
    /// The lease is renewed until the body has ended, although the term is over.
    RenewUntilEnd,
    /// An overrun whose body has made no progress for too long gives the lock up.
    GiveUp,
    /// This holds for every overrun, whatever its term ended for.
    WhateverFor,
    /// A body is an overrun at the end of the validity, even if it was told less than `stop_within` before.
    OverrunAtValidity,
    /// The watchdog does not depend on the thread of the body.
    Watchdog,
    /// `check()` compares the clock with the validity. It does not rely on what the watchdog has noticed.
    CheckReadsClock,
    /// A body begins only if its term is not over.
    BeginInTime,
    /// After a term, the seat stands at the back of the queue.
    BackOfQueue,
    /// After a term that its body did not end, the seat stands again. So does a seat that the store has forgotten.
    StandsAgain,
    /// An error of a body whose term was over does not end the lead.
    LostError,
    /// The number of a term is its fencing token, not a count of terms that the store keeps.
    NumberIsToken,
}

impl Safeguard {
    /// All rules.
    pub const ALL: [Self; 14] = [
        Self::TellEarly,
        Self::StaysOver,
        Self::ReleaseAfterEnd,
        Self::RenewUntilEnd,
        Self::GiveUp,
        Self::WhateverFor,
        Self::OverrunAtValidity,
        Self::Watchdog,
        Self::CheckReadsClock,
        Self::BeginInTime,
        Self::BackOfQueue,
        Self::StandsAgain,
        Self::LostError,
        Self::NumberIsToken,
    ];
}

/// What the bodies do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They end within `stop_within` after they were told.
    InTime,
    /// They end at any time, or never.
    Any,
}

/// How often each fault may happen in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A process is killed.
    pub kills: u8,
    /// A process is suspended, for any time.
    pub suspends: u8,
    /// A process is cut off from the store, for any time.
    pub cuts: u8,
    /// The store is restarted without its data, and is closed until every lease has ended.
    pub restarts: u8,
    /// Somebody breaks the lock by force.
    pub forces: u8,
    /// A process drains: it ends its lead.
    pub drains: u8,
}

/// The rules of one run. Durations are ticks.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The number of processes, each with one seat.
    pub seats: u8,
    /// How long the store keeps a holder that does not renew its lease.
    pub lease: u8,
    /// By how much a process shortens the validity of its lease.
    pub allowance: u8,
    /// How long a body may take to end after it was told.
    pub stop_within: u8,
    /// How long a body may go without reporting progress; 0 for any time.
    pub progress: u8,
    /// What the bodies do.
    pub bodies: Bodies,
    /// An overrun aborts the process. Otherwise it is logged.
    pub aborts: bool,
    /// Bodies may return by themselves.
    pub returns: bool,
    /// Leaders may resign.
    pub resigns: bool,
    /// A process that is not suspended and not cut off renews its lease in every tick.
    pub prompt: bool,
    /// The faults that may happen.
    pub faults: Faults,
    /// The rule that this run leaves out.
    pub without: Option<Safeguard>,
    /// Whether clocks, processes and bodies are such that exclusion must hold. Otherwise it is not checked.
    pub assumed: bool,
}

impl Rules {
    /// The rules of a run in which overruns abort, every renewal may fail, and nothing else goes wrong.
    #[must_use]
    pub fn new(seats: u8) -> Self {
        Self {
            seats,
            lease: 5,
            allowance: 1,
            stop_within: 2,
            progress: 0,
            bodies: Bodies::Any,
            aborts: true,
            returns: false,
            resigns: false,
            prompt: false,
            faults: Faults::default(),
            without: None,
            assumed: true,
        }
    }

    /// Returns whether `safeguard` is in force.
    #[must_use]
    pub fn keeps(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }

    /// The validity of a lease that was just granted or renewed.
    pub(super) fn validity(&self) -> u8 {
        self.lease - self.allowance
    }
}
