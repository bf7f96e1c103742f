//! The parts of a lease: when renewals are due ([`RenewalSchedule`]), the time limits that the holder asked for
//! ([`Terms`]), until when a nested call may use a hold ([`Bounds`]), and which tasks wake when a hold ends
//! ([`Listeners`]).
//!
//! This folder does not depend on queues, stores or clients.

mod bound;
mod listeners;
mod schedule;
mod terms;

pub(crate) use bound::{Bound, Bounds, WeakBounds};
pub(crate) use listeners::{ListenerKey, Listeners};
pub(crate) use schedule::RenewalSchedule;
pub(crate) use terms::Terms;
