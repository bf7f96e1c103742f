//! The search for deadlocks across processes, as far as it is not in [`auto_mutex_protocol::deadlock`]: the list of this
//! process's [`waits`], and the [`hops`] of a report. `queue/client/deadlocks.rs` sends the messages.

mod hops;
#[cfg(all(test, repository))]
mod tests;
mod waits;

use auto_mutex_protocol::deadlock;

pub(crate) use self::hops::hops;
pub(crate) use self::waits::{HeldLock, TaskWait, Waiting, find, holds_of, waits_of};
use crate::base::name::Name;
use crate::store::{NameRecord, meta};

pub(crate) type Answer = deadlock::Answer<Name>;
/// A deadlock.
pub type Cycle = deadlock::Cycle<Name>;
pub(crate) type Effect = deadlock::Effect<Name>;
pub(crate) type Input = deadlock::Input<Name>;
pub(crate) type Probe = deadlock::Probe<Name>;
pub(crate) type Searches = deadlock::Searches<Name>;
pub(crate) type Wait = deadlock::Wait<Name>;
pub(crate) type WaitingHold = deadlock::WaitingHold<Name>;

/// Who waits for whom, as far as the store knows.
pub type Records = deadlock::Records<Name>;
/// Tasks that wait for each other.
pub type CycleHops = deadlock::CycleHops<Name>;

/// Reads the records of some names. Names without waiters may be left out.
pub fn records<'a>(names: impl IntoIterator<Item = (&'a Name, &'a NameRecord)>) -> Records {
    Records::new(names, |meta| {
        meta::held(meta).map(Name::from_escaped).collect()
    })
}
