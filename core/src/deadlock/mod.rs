//! Deadlocks across processes: a task that holds a lock and waits for another one, which is held by a task that waits
//! for the first lock, directly or through others.
//!
//! When a task has waited for [`Config::deadlock_after`](crate::Config::deadlock_after), its client begins a
//! [`search`]. The client inspects the name, asks the client of each holder which locks the task of that hold waits for
//! ([`probe`]), and continues with these locks. [`graph`] computes which waits can never end. A deadlock counts only if
//! two rounds, one after the other, have found it. Nothing is kept in the store.
//!
//! [`waits`] are the waits of this process whose tasks hold locks. [`detector`] has the searches of one client. This
//! folder does not depend on queues or handles, and sends nothing itself: the client does (`member/deadlocks.rs`).

mod detector;
mod graph;
mod probe;
mod search;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod waits;

pub(crate) use self::detector::Detector;
pub(crate) use self::graph::{Wait, WaitId, WaitingHold};
#[cfg(repository)]
#[cfg(test)]
pub(crate) use self::probe::Answer;
pub(crate) use self::probe::Probe;
pub(crate) use self::search::Todo;
pub(crate) use self::waits::{HeldLock, Registered, TaskWait, Waiting};
