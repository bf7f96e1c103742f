//! The local queue: the waiters and holds of one process for one name.
//!
//! A [`LockQueue`] has the FIFO of this process's waiters and sends their requests to the store. One ticket at a time
//! waits in the store, for the first waiter. Waiters that could hold together have a ticket each. When a ticket is
//! granted, its waiter gets a [`Hold`], and a new ticket asks for the next waiter. A [`Ticket`](ticket::Ticket) stays
//! here through all its states, until the store has answered its release.
//!
//! Everything happens in short [transitions](lock_queue::Transition) under one mutex per name: a caller joins, cancels
//! or releases; the store answers or sends a message; a timer fires. A transition changes the state and collects the
//! requests to send and the tasks to wake. At its end the requests are sent in order; then the mutex is unlocked and
//! the tasks are woken. A transition never waits, and runs no user code.
//!
//! | file | idea |
//! |---|---|
//! | `lock_queue` | the state, and the frame of a transition |
//! | `ticket` | one ticket: its states, and the request that each of them sends |
//! | `send_log` | when each request of a ticket was sent |
//! | `waiter` | one local waiter |
//! | `acquire` | waiting for a lock |
//! | `hold`, `holds` | one grant; the grants of one guard |
//! | `enter` | a waiter joins or leaves |
//! | `places` | how many tickets wait in the store, and for whom |
//! | `deliver` | a grant is delivered to its waiter |
//! | `leave` | a hold ends: release, refresh, withdrawing |
//! | `handoff` | a lease is passed to the next waiter here |
//! | `events` | events of the client: answers, messages, timers, draining, shutdown; and what the client asks |
//! | `answer` | the store answers a request |
//! | `hint` | the store sends a message |
//! | `due` | a timer fires |
//! | `slow`, `warned` | warnings about long waits and holds; when the next one is due |
//! | `blocked` | the warning about waiters that block all workers of the holder's runtime |
//! | `nested` | waits and holds, as the search for deadlocks sees them |
//! | `query` | asking about a name, breaking its lock |
//! | `by_hand` | the guards that stay with the tasks that took them |

mod acquire;
mod answer;
mod blocked;
mod by_hand;
mod deliver;
mod due;
mod enter;
mod events;
mod handoff;
mod hint;
mod hold;
mod holds;
#[cfg(all(test, shuttle, repository))]
mod interleavings;
mod leave;
mod lock_queue;
mod nested;
mod places;
mod query;
mod send_log;
#[cfg(repository)]
#[cfg(test)]
mod simulation;
mod slow;
#[cfg(repository)]
#[cfg(test)]
mod tests;
mod ticket;
mod waiter;
mod warned;

pub(crate) use acquire::Acquire;
pub(crate) use by_hand::{Stay, held_by_hand};
pub(crate) use hold::Hold;
pub(crate) use holds::Holds;
pub(crate) use lock_queue::{Answered, LockQueue, Member, OpenClient};
pub(crate) use ticket::{Confirmed, Unlocked};
pub(crate) use waiter::{Past, Patience, Requester, Want};
