//! Histories: what processes asked, were answered and believed, and whether a lock could have behaved so.
//!
//! Workers write down events with times ([`Recorder`]), on a clock that all processes of the machine share and that goes on
//! while one of them is suspended. From these come histories, one of each name: operations, each between a time before
//! which it cannot have taken effect and one after which it must have. [`check`] looks for an order of them, one at a time, that
//! keeps to these times and that the [`Specification`] allows.
//!
//! What a lock with leases promises, and so what is checked:
//!
//! - A *grant* takes effect between the call and its return. The call that did not return a guard (given up, timed out, failed, its
//!   process killed) may have been granted for a while: nobody knows, and nothing follows from it.
//! - A hold *ends* once, at some time after the last instant at which its holder surely believed in it. Such an instant is read
//!   from the clock just before the guard is asked, and counts if the guard says that it is held; `unlock() == true` says so of the
//!   time when it was called. If it was, the end is before its return. In all other cases (dropped, lost, suspended,
//!   killed) the lease ends it, or a release on its way: at any time after that instant, or never.
//! - Between grant and end a hold takes its units; those of all that are held fit into the capacity.
//! - Fencing tokens grow from each grant to the next.
//! - An update of the fenced register, which is read and then written under one token, is one step. If its answer was not heard
//!   it may have been done, at any later time, or not.

mod cell;
mod checker;
mod event;
mod holds;
mod lock;
mod recorder;
mod register;
#[cfg(test)]
mod tests;
mod updates;
mod witness;

pub use cell::Cell;
pub use checker::{Span, Specification, Violation, check};
pub use event::{Event, What};
pub use holds::holds;
pub use lock::{Lock, Step};
pub use recorder::{Recorder, now, read};
pub use register::{Register, Update};
pub use updates::updates;
pub use witness::{minimal, shown};
