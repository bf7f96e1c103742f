//! [`Event`]: what happened in a World, in order; and [`Record`], which also finds overlaps.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use auto_mutex_core::LossCause;
use auto_mutex_core::store::Ticket;

use super::fault::Fault;

/// Something that happened in a [`World`](super::World).
///
/// Its `Display` is one line, such as `0.250s a granted billing:crate:close:5`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// When it happened, since the start of the World.
    pub at: Duration,
    /// The host; empty for a fault of the store.
    pub host: String,
    /// The complete name of the lock; empty for a fault of a host or the store.
    pub name: String,
    /// What happened.
    pub what: Happening,
    /// The fencing token of a grant.
    pub token: Option<u64>,
}

/// What an [`Event`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// A call asks for the lock, and waits for it.
    Waits,
    /// A call has the lock.
    Granted,
    /// The lock was released.
    Released,
    /// The lock was lost.
    Lost(LossCause),
    /// A deadlock was found, with an event for each lock of its cycle: the holder of this one waits for that of the
    /// next event, and the last one for that of the first.
    Deadlock,
    /// The test caused this fault.
    Fault(Fault),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}s", self.at.as_secs_f64())?;
        if !self.host.is_empty() {
            write!(f, " {}", self.host)?;
        }
        match self.what {
            Happening::Waits => f.write_str(" waits for")?,
            Happening::Granted => f.write_str(" granted")?,
            Happening::Released => f.write_str(" released")?,
            Happening::Lost(_) => f.write_str(" lost")?,
            Happening::Deadlock => f.write_str(" deadlocked with")?,
            Happening::Fault(fault) => write!(f, " {fault:?}")?,
        }
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        match self.what {
            Happening::Lost(cause) => write!(f, ": {cause}"),
            _ => Ok(()),
        }
    }
}

/// A grant that a caller has: the ticket, and the token, which differs between the callers of a handoff.
pub(super) type Key = (Ticket, u64);

#[derive(Default)]
pub(super) struct Record {
    pub(super) events: Vec<Event>,
    /// The holds that callers have: the host, and a description.
    pub(super) active: BTreeMap<Key, (String, String)>,
    /// The holds that the test took away.
    pub(super) taken: Vec<Ticket>,
    pub(super) overlaps: Vec<String>,
}
