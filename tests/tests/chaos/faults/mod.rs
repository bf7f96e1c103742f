//! The faults, one file for each part of the system that may fail.

pub(crate) mod bytes;
pub(crate) mod clock;
pub(crate) mod commands;
pub(crate) mod deadlocks;
pub(crate) mod links;
pub(crate) mod postgres;
pub(crate) mod processes;
pub(crate) mod refusals;
pub(crate) mod restarts;

use crate::field::Field;
use crate::needs::Needs;

type Strike = Box<dyn Fn(&mut Field, usize) -> Option<Struck> + Sync>;

/// A fault that strikes again and again.
pub(crate) struct Fault {
    pub(crate) name: String,
    /// Whether, under this fault, two clients may both have a valid guard until a lease ends, so that only fencing
    /// tokens protect the data.
    pub(crate) is_fenced_only: bool,
    /// Whether the fault is tried on a mutex that clients keep, and on leaders: it harms the keeper, or what the store
    /// knows of it.
    pub(crate) harms_keepers: bool,
    /// The number of locks on which the fault is tried in the short form of the matrix.
    pub(crate) samples: usize,
    /// The requirements. The error is the reason why this machine cannot meet them.
    pub(crate) needs: Box<dyn Fn() -> Result<Needs, String> + Sync>,
    /// How often the fault happens; the number is that for most faults.
    pub(crate) rounds: fn(&mut Field, usize) -> usize,
    /// Starts the fault, and ends it if it has an end. Returns `None` if it did not happen.
    pub(crate) strike: Strike,
    /// Repairs the remaining damage, after the living processes have recovered.
    pub(crate) mend: fn(&mut Field),
}

impl Fault {
    /// A fault without an end, or one that `strike` ends.
    fn new(
        name: &str,
        needs: impl Fn() -> Result<Needs, String> + Sync + 'static,
        strike: impl Fn(&mut Field) + Sync + 'static,
    ) -> Self {
        Self::in_rounds(name, needs, move |field, _| {
            strike(field);
            Some(Struck::now(field))
        })
    }

    /// A fault that depends on the round, or that may not happen.
    fn in_rounds(
        name: &str,
        needs: impl Fn() -> Result<Needs, String> + Sync + 'static,
        strike: impl Fn(&mut Field, usize) -> Option<Struck> + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            is_fenced_only: false,
            harms_keepers: false,
            samples: 2,
            needs: Box::new(needs),
            rounds: |_, usual| usual,
            strike: Box::new(strike),
            mend: |_| {},
        }
    }

    fn harms_keepers(self) -> Self {
        Self {
            harms_keepers: true,
            ..self
        }
    }

    fn fenced_only(self) -> Self {
        Self {
            is_fenced_only: true,
            ..self
        }
    }

    fn mend(self, mend: fn(&mut Field)) -> Self {
        Self { mend, ..self }
    }

    fn samples(self, samples: usize) -> Self {
        Self { samples, ..self }
    }
}

/// The state when the fault has ended, or has begun if it has no end.
pub(crate) struct Struck {
    /// The start of the recovery, by the witness's clock.
    pub(crate) since: u64,
    /// The processes that must recover.
    pub(crate) alive: Vec<u32>,
}

impl Struck {
    /// The recovery starts now, with all present processes alive.
    fn now(field: &Field) -> Self {
        Self {
            since: field.now(),
            alive: field.alive(),
        }
    }
}
