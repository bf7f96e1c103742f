//! [`Wait`] and [`WaitingHold`]: what a client says about its own tasks.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{SharedStr, Ticket};

/// The id of a wait, never reused. (A ticket of the store may serve several waiters in turn.)
pub type WaitId = Ticket;

/// A wait of a task that holds other locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wait<N> {
    /// Its id.
    pub id: WaitId,
    /// The lock.
    pub name: N,
    /// The units that it asks for.
    pub units: u32,
    /// Its own ticket in the queue of the name, or the last ticket of its process that is served before it.
    pub after: Option<Ticket>,
    /// For how long.
    pub waited: Duration,
    /// The caller's description, escaped: see `docs/protocol.md`.
    pub meta: SharedStr,
    /// Whether the call may fail to end a deadlock.
    pub fails: bool,
}

/// A hold whose task waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaitingHold<N> {
    /// The ticket that holds.
    pub ticket: Ticket,
    /// Tells apart two holders of one ticket.
    pub token: u64,
    /// The units that it holds.
    pub units: u32,
    /// For how long.
    pub held: Duration,
    /// The holder's description, escaped: see `docs/protocol.md`.
    pub meta: SharedStr,
    /// Several if the task has several branches.
    pub waits: Vec<Wait<N>>,
}

/// A hold that a task had when it began to wait, and what has become of both.
#[derive(Clone, Debug)]
pub struct Nested<N> {
    /// The hold, without waits.
    pub hold: WaitingHold<N>,
    /// Whether the hold has ended.
    pub ended: bool,
    /// `None` if the call no longer waits.
    pub wait: Option<Wait<N>>,
}

impl<N> WaitingHold<N> {
    /// The hold of a ticket, of all tasks that began to wait while they held it. `None` if its task waits for nothing.
    pub fn of(tasks: impl IntoIterator<Item = Nested<N>>) -> Option<Self> {
        // The ticket may have been handed off to another waiter of this process.
        let tasks = tasks.into_iter().filter(|task| !task.ended);
        let waiting = tasks.filter_map(|task| Some((task.hold, task.wait?)));
        let mut held: Option<Self> = None;
        for (hold, wait) in waiting {
            let token = hold.token;
            let held = held.get_or_insert(hold);
            if held.token == token {
                held.waits.push(wait);
            }
        }
        held
    }
}
