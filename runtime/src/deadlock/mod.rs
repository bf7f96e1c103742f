//! Deadlocks across processes: a task that holds a lock and waits for another one, which is held by a task that waits
//! for the first, directly or through others.
//!
//! The client of a task that has waited for [`Config::deadlock_after`](crate::Config::deadlock_after) searches: it
//! inspects the name, and asks the client of each holder what the task of that hold waits for ([`probe`]), and so on
//! ([`search`]). [`graph`] says which waits can never end. Only what two searches one after the other have found counts. Nothing
//! is kept in the store.
//!
//! [`waits`] are the waits of this process whose tasks hold locks. [`detector`] has the searches of one client. This folder
//! knows neither queues nor handles, and sends nothing itself: the client does (`member/deadlocks.rs`).

mod detector;
mod graph;
mod probe;
mod search;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod waits;

pub(crate) use self::detector::{Detector, Todo, Verdict};
#[cfg(repository)]
#[cfg(test)]
pub(crate) use self::graph::{Wait, WaitingHold};
#[cfg(repository)]
#[cfg(test)]
pub(crate) use self::probe::Answer;
pub(crate) use self::probe::Probe;
pub(crate) use self::waits::{HeldLock, Registered, TaskWait, WaitView, Waiting};

/// What a client does about deadlocks: see [`Config::deadlock`](crate::Config::deadlock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Deadlock {
    /// Nothing. Deadlocks in which a call of this client takes part are not found by others either.
    Off,
    /// One warning per deadlock, which names every lock, process and line.
    #[default]
    Report,
    /// Also, one call of the deadlock fails with [`LockError::Deadlock`](crate::LockError::Deadlock), so the others
    /// continue.
    Fail,
}
