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
//! | `hold`, `holds` | one grant; the grants of one guard, and of a task |
//! | `enter` | a waiter joins or leaves; waits and holds, as the search for deadlocks sees them |
//! | `places` | how many tickets wait in the store, and for whom |
//! | `grant` | what was granted; its delivery to a waiter, and later to the next waiter here |
//! | `attempt` | a ticket that never waits in the store |
//! | `leave` | a hold ends: release, refresh, withdrawing |
//! | `events` | events of the client: timers, draining, shutdown; queries about the name, and what the client asks |
//! | `answer` | the store answers a request, or sends a message |
//! | `due` | a timer fires |
//! | `watch` | reports a call to the subscriber and the observer |
//! | `warnings` | warnings about long waits and holds, and about blocked workers |

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
mod watch;

pub(crate) use self::watch::{Watch, warn_of_timeout};
pub(crate) use acquire::Acquire;
pub(crate) use hold::Hold;
pub(crate) use holds::{Holds, Stay, held_by_hand};
pub(crate) use lock_queue::{Answered, LockQueue, Member, OpenClient};
pub(crate) use ticket::{Confirmed, Unlocked};
pub(crate) use waiter::{Past, Patience, Requester, Want};
