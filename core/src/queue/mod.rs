//! The local queue: the waiters and holds of one process for one name.
//!
//! A [`LockQueue`] has the FIFO of this process's waiters and sends their requests to the store. One ticket at a time
//! waits in the store, for the first waiter. Waiters that could hold together have a ticket each. When a ticket is
//! granted, its waiter gets a [`Hold`], and a new ticket asks for the next waiter. A [`Ticket`](ticket::Ticket) stays
//! here through all its states, until the store has answered its release.
//!
//! Everything happens in short [transitions](lock_queue::Transition) under one mutex per name: a caller joins, cancels
//! or releases; the store answers or sends a message; a timer fires. A transition never waits, and runs no user code.

mod acquire;
mod answer;
mod attempt;
mod due;
mod enter;
mod events;
mod grant;
mod hold;
mod holds;
#[cfg(all(test, shuttle, repository))]
mod interleavings;
mod leave;
mod lock_queue;
mod places;
mod send_log;
#[cfg(repository)]
#[cfg(test)]
mod simulation;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod ticket;
mod waiter;
mod warnings;

pub(crate) use acquire::Acquire;
pub(crate) use hold::Hold;
pub(crate) use holds::{Holds, Stay, held_by_hand};
pub(crate) use lock_queue::{Answered, LockQueue, Member, OpenClient};
pub(crate) use ticket::{Confirmed, Unlocked};
pub(crate) use waiter::{Past, Patience, Requester, Want};
