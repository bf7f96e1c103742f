//! The faults, one file for each part of the system that may fail.

mod bytes;
mod clock;
mod commands;
mod deadlocks;
mod links;
mod postgres;
mod processes;
mod refusals;
mod restarts;

use crate::field::Field;
use crate::needs::Needs;

/// A fault that strikes again and again.
pub(crate) trait Fault: Sync {
    fn name(&self) -> &'static str;

    /// Whether, under this fault, two clients may both have a valid guard until a lease ends, so that only fencing
    /// tokens protect the data.
    fn is_fenced_only(&self) -> bool {
        false
    }

    /// Whether the fault is tried on a mutex that clients keep, and on leaders: it harms the keeper, or what the store
    /// knows of it.
    fn harms_keepers(&self) -> bool {
        false
    }

    /// In the short form of the matrix, the only lock on which the fault is tried; an empty name for none. `None` for all locks.
    fn sample(&self) -> Option<&'static str> {
        None
    }

    /// The requirements of the fault. The error is the reason why this machine cannot meet them.
    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs::default())
    }

    /// How often the fault happens; `usual` is the number for most faults.
    fn rounds(&self, _field: &mut Field, usual: usize) -> usize {
        usual
    }

    /// Starts the fault, and ends it if it has an end. Returns `None` if it did not happen.
    fn strike(&self, field: &mut Field, round: usize) -> Option<Struck>;

    /// Repairs the remaining damage, after the living processes have recovered.
    fn mend(&self, _field: &mut Field) {}
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
    fn now(field: &Field) -> Option<Self> {
        Some(Self {
            since: field.now(),
            alive: field.alive(),
        })
    }
}

pub(crate) fn all() -> Vec<Box<dyn Fault>> {
    let mut all = on_redis();
    all.extend(postgres::all());
    all
}

fn on_redis() -> Vec<Box<dyn Fault>> {
    vec![
        Box::new(processes::Kill),
        Box::new(processes::Suspend),
        Box::new(deadlocks::Crossed),
        Box::new(links::Cut),
        Box::new(links::Freeze),
        Box::new(links::HalfOpen),
        Box::new(bytes::Reply { cuts: true }),
        Box::new(bytes::Reply { cuts: false }),
        Box::new(bytes::Greeting),
        Box::new(commands::ClientKill),
        Box::new(commands::ClientPause { all: false }),
        Box::new(commands::ClientPause { all: true }),
        Box::new(commands::ScriptFlush),
        Box::new(commands::FlushAll),
        Box::new(restarts::WithData),
        Box::new(restarts::WithoutData { guarded: true }),
        Box::new(restarts::WithoutData { guarded: false }),
        Box::new(refusals::Loading),
        Box::new(refusals::FullMemory),
        Box::new(refusals::NoPermission),
        Box::new(refusals::ReadOnly),
        Box::new(refusals::Busy),
        Box::new(clock::Step { forward: true }),
        Box::new(clock::Step { forward: false }),
    ]
}
