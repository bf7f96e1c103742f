//! [`Witness`]: hears what becomes of the calls of a client. For the test kit.

use super::hold::Hold;
use crate::base::name::Name;
use crate::deadlock::Cycle;

pub(crate) trait Witness: Send + Sync {
    /// A call asks for the lock.
    fn waits(&self, name: &Name);

    /// A caller has the lock. May be reported again.
    fn began(&self, hold: &Hold);

    /// The process must be aborted.
    fn aborts(&self);

    /// A deadlock was found, and is reported by this client.
    fn deadlock(&self, cycle: &Cycle);

    /// The hold has ended. May be reported again, and for a hold that no caller had.
    fn ended(&self, hold: &Hold);
}
