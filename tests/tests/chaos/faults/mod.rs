//! What breaks: a file for each place where it does.

mod bytes;
mod clock;
mod commands;
mod deadlocks;
mod links;
mod processes;
mod refusals;
mod restarts;

use crate::field::Field;
use crate::needs::Needs;

/// Something that breaks, again and again.
pub(crate) trait Fault: Sync {
    fn name(&self) -> &'static str;

    /// Whether two may believe to hold for the rest of their leases, so that only fencing tokens help.
    fn is_fenced_only(&self) -> bool {
        false
    }

    /// What it needs; if this machine cannot have it, why.
    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs::default())
    }

    /// How often it strikes, where `usual` is what others do.
    fn rounds(&self, _field: &mut Field, usual: usize) -> usize {
        usual
    }

    /// Strikes, and ends; `None` if there was nothing to strike.
    fn strike(&self, field: &mut Field, round: usize) -> Option<Struck>;

    /// Repairs what takes longer than those that live should wait for.
    fn mend(&self, _field: &mut Field) {}
}

/// A fault is over, or has begun if it has no end.
pub(crate) struct Struck {
    /// Since when the recovery counts, by the witness' clock.
    pub(crate) since: u64,
    /// The processes that must get on again.
    pub(crate) alive: Vec<u32>,
}

impl Struck {
    /// Just now, and everybody who is there is alive.
    fn now(field: &Field) -> Option<Self> {
        Some(Self {
            since: field.now(),
            alive: field.alive(),
        })
    }
}

pub(crate) fn all() -> Vec<Box<dyn Fault>> {
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
