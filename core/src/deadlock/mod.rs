//! The search for deadlocks across processes, as far as it is not in [`auto_mutex_protocol::deadlock`]: the [`hops`] of
//! a report, and what operators see. `queue/waits.rs` has the waits, and `queue/client/deadlocks.rs` sends the
//! messages.

mod hops;
#[cfg(all(test, repository))]
mod tests;

use auto_mutex_protocol::deadlock;

pub(crate) use self::hops::hops;
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
