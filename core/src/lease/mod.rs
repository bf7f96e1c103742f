//! The parts of a lease, without queues, stores or clients: when renewals are due, the time limits of a holder, until
//! when a nested call may use a hold, and which tasks wake when a hold ends.

mod bound;
mod listeners;
mod schedule;
mod terms;

pub(crate) use bound::{Bound, Bounds, WeakBounds};
pub(crate) use listeners::{ListenerKey, Listeners};
pub(crate) use schedule::RenewalSchedule;
pub(crate) use terms::Terms;
