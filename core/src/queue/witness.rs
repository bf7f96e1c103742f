//! [`Witness`]: hears what becomes of the calls of a client. For the test kit.

use super::hold::Hold;
use crate::base::error::LossCause;
use crate::base::name::Name;
use crate::deadlock::Cycle;
use crate::observe::CallerLocation;
use crate::store::Ticket;

/// Hears what becomes of the calls of a client.
pub trait Witness: Send + Sync {
    /// A call asks for the lock.
    fn waits(&self, name: &Name);

    /// A caller has the lock. May be reported again.
    fn began(&self, hold: &Witnessed);

    /// The process must be aborted.
    fn aborts(&self);

    /// A deadlock was found, and is reported by this client.
    fn deadlock(&self, cycle: &Cycle);

    /// The hold has ended. May be reported again, and for a hold that no caller had.
    fn ended(&self, hold: &Witnessed);
}

/// A hold, as a witness sees it.
#[derive(Debug)]
pub struct Witnessed {
    /// The complete name of the lock.
    pub name: Name,
    /// The ticket that holds it.
    pub ticket: Ticket,
    /// The fencing token.
    pub token: u64,
    /// The units that it takes.
    pub units: u32,
    /// The capacity of the lock.
    pub capacity: u32,
    /// The place in the code of the call.
    pub site: String,
    /// Why it was lost, if it was.
    pub lost: Option<LossCause>,
}

impl Witnessed {
    pub(crate) fn of(hold: &Hold) -> Self {
        Self {
            name: hold.name().clone(),
            ticket: hold.grant.ticket,
            token: hold.grant.token,
            units: hold.weight(),
            capacity: hold.want().share.capacity,
            site: CallerLocation(&hold.want().meta).to_string(),
            lost: hold.lost_for(),
        }
    }
}
