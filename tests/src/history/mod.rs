//! Histories of the calls and answers of several processes. A search finds out whether a correct lock could have
//! produced them.
//!
//! Workers record events with times ([`Recorder`]). All processes of the machine share the clock, and it continues
//! while a process is suspended. The events of each name become a history: operations, each with a time before which it
//! cannot have taken effect, and a time by which it must have. [`check`] looks for an order of the operations that
//! agrees with these times and that the [`Specification`] allows.
//!
//! The search checks these promises of a lock with leases:
//!
//! - A *grant* takes effect between the call and its return. A call without a guard was cancelled, timed out or failed,
//!   or its process was killed. It may have been granted for a while, but the history does not contain that.
//! - A *hold* ends once, after the last instant at which its guard was valid. The holder reads this instant from the
//!   clock right before it asks the guard, and it counts if the guard confirms the hold. `unlock() == true` confirms
//!   the hold at the time of the call, and then the end comes before the call returns. In all other cases (dropped,
//!   lost, suspended, killed), the lease or a late release ends the hold at any time after that instant, or never.
//! - Between its grant and its end, a hold uses its units. All holds together never use more units than the capacity.
//! - Fencing tokens grow from each grant to the next.
//! - An update of the fenced register is one step: a read, and then a write with the same token. A write without an
//!   answer may have happened at any later time, or never.

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
