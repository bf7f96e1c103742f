//! A separate model of leading: processes that stand for one seat, lead, and stand again.
//!
//! Leading is a layer over the mutex, so the mutex is short here: a store with one leased holder and a queue. The other
//! model covers how it grants. [`seat`] is the layer, as each process follows it: when a term is over, when its body is
//! an overrun, and when the lock is released. [`store`] is the lock, [`world`] the possible steps, `properties` and
//! `service` what must hold, [`rules`] what a run allows and leaves out, and [`runs`] the list of runs.
//!
//! A process has a body and a watchdog. The body may take any time and may hang. The watchdog of a process that runs
//! does what is due before the next tick. A suspended process does nothing, and its clock goes on.

#[cfg(feature = "checker")]
pub mod check;
mod normal;
#[cfg(feature = "checker")]
pub mod properties;
pub mod rules;
pub mod runs;
pub mod seat;
#[cfg(feature = "checker")]
mod service;
pub mod store;
pub mod world;

/// The number of a ticket or of a term.
pub type Id = u8;
