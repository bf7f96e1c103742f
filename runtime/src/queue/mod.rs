//! The local queue: what one process wants of one name.
//!
//! A [`LockQueue`] holds the FIFO of this process's waiters and speaks to the store for them. One ticket at a
//! time waits in the store, for the first of them (or one for each that could hold together); when it is granted the
//! waiter gets it and a new ticket asks for the next. What is granted stays here as a [`Held`](ticket::Held) and is renewed until its
//! guard is gone; what is released stays until the store has answered.
//!
//! Everything happens in short steps under one lock per name: somebody acquires, cancels or releases; the
//! store answers or tells; a point in time comes. Each step ends in [`settle`](local), which handles the
//! answers that came at once and arms the next point in time. A step never waits and never calls a waker or
//! any code of users while it holds the lock.
//!
//! | file | idea |
//! |---|---|
//! | `local` | the state, and the frame of a step |
//! | `enter` | a waiter comes or goes |
//! | `places` | how many tickets wait in the store, and for whom |
//! | `ask` | a ticket that waits, and its grant |
//! | `alone` | what is free, and a release that nobody waits for, in a store that answers at once |
//! | `at_once` | what is free needs no waiter |
//! | `attempt` | tickets that do not wait in the store |
//! | `leave` | a hold ends: release, refresh, resending |
//! | `pass_on` | a hold goes to the next waiter here |
//! | `answer` | the store answers a request |
//! | `hint` | the store tells something unasked |
//! | `due` | a point in time has come |
//! | `query` | asking about a name, breaking its lock |
//! | `ticket` | what is known of one ticket |
//! | `waiter` | one local waiter |

mod acquire;
mod alone;
mod answer;
mod ask;
mod at_once;
mod attempt;
mod due;
mod enter;
mod events;
mod hint;
mod hold;
mod holds;
mod home;
#[cfg(all(test, shuttle))]
mod interleavings;
mod leave;
mod lock_queue;
mod pass_on;
mod places;
mod query;
mod recent;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod ticket;
mod waiter;

pub(crate) use acquire::Acquire;
pub(crate) use hold::Hold;
pub(crate) use holds::Holds;
pub(crate) use home::home;
pub(crate) use leave::check_refresh;
pub(crate) use lock_queue::{LockQueue, Member};
pub(crate) use query::Answered;
pub(crate) use ticket::{Confirmed, Unlocked};
pub(crate) use waiter::{Past, Patience, Want};
