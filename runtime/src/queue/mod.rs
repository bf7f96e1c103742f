//! The local queue: what one process wants of one name.
//!
//! A [`LockQueue`] holds the FIFO of this process's waiters and speaks to the store for them. One ticket at a
//! time waits in the store, for the first of them (or one for each that could hold together). When it is granted, its
//! waiter gets a [`Hold`], and a new ticket asks for the next one. A [`Ticket`](ticket::Ticket) stays here, through all its
//! states, until the store has answered its release.
//!
//! Everything happens in short [transitions](lock_queue::Transition) under one lock per name: somebody enters the queue,
//! cancels or releases; the store answers or tells; a point in time comes. A transition changes the state, collects requests
//! to send and tasks to wake, and does neither itself: the requests are sent in order at its end, the tasks woken when
//! no lock is held. It never waits, and runs no code of users.
//!
//! | file | idea |
//! |---|---|
//! | `lock_queue` | the state, and the frame of a transition |
//! | `ticket` | one ticket: its states, and the request that each of them sends |
//! | `send_log` | when each request of a ticket was sent |
//! | `waiter` | one local waiter |
//! | `acquire` | waiting for a lock |
//! | `hold`, `holds` | one grant; what one guard has of them |
//! | `enter` | a waiter comes or goes |
//! | `places` | how many tickets wait in the store, and for whom |
//! | `deliver` | a grant goes to its waiter |
//! | `leave` | a hold ends: release, refresh, withdrawing |
//! | `handoff` | a hold goes to the next waiter here |
//! | `uncontended`, `recent` | the fast path for a name that nobody else has to do with |
//! | `events` | what the client tells: answers, messages, points in time, its end |
//! | `answer` | the store answers a request |
//! | `hint` | the store tells something unasked |
//! | `due` | a point in time has come |
//! | `query` | asking about a name, breaking its lock |
//! | `home` | where a caller runs |

mod acquire;
mod answer;
mod deliver;
mod due;
mod enter;
mod events;
mod handoff;
mod hint;
mod hold;
mod holds;
mod home;
#[cfg(all(test, shuttle))]
mod interleavings;
mod leave;
mod lock_queue;
mod places;
mod query;
mod recent;
mod send_log;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod ticket;
mod uncontended;
mod waiter;

pub(crate) use acquire::Acquire;
pub(crate) use hold::Hold;
pub(crate) use holds::Holds;
pub(crate) use home::home;
pub(crate) use leave::check_refresh;
pub(crate) use lock_queue::{Answered, LockQueue, Member};
pub(crate) use ticket::{Confirmed, Unlocked};
pub(crate) use waiter::{Past, Patience, Want};
