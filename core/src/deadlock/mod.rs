//! Deadlocks across processes: a task that holds a lock waits for another one, whose holder waits for the first,
//! directly or through others. A client whose task has waited for long begins a [`search`]: it asks the clients of
//! holders what they wait for ([`probe`]), and [`graph`] finds the waits that can never end.
//! `queue/client/deadlocks.rs` sends the messages. For operators, [`records`] feeds the same graph.

mod detector;
mod graph;
mod probe;
mod records;
mod search;
#[cfg(all(test, repository))]
mod tests;
mod waits;

pub(crate) use self::detector::Detector;
#[cfg(any(test, feature = "test-util"))]
pub(crate) use self::graph::Cycle;
pub(crate) use self::graph::{Wait, WaitId, WaitingHold};
#[cfg(all(test, repository))]
pub(crate) use self::probe::Answer;
pub(crate) use self::probe::Probe;
pub use self::records::{CycleHops, Records};
pub(crate) use self::search::Todo;
pub(crate) use self::waits::{HeldLock, TaskWait, Waiting};
