//! The search for deadlocks: tasks of several clients take several locks, and one client searches between their steps.
//!
//! The searches are [`Searches`](auto_mutex_protocol::deadlock::Searches), and the names
//! [`State`](auto_mutex_protocol::State)s, as they ship. Of the clients, only what a search needs is here: tasks take
//! locks in any order and release the last one first, endlessly, and each client has at most one ticket in a queue.
//!
//! [`world`] has the possible steps, [`rules`] what may happen in a run, `truth` which tasks are really deadlocked,
//! [`properties`] what must hold, and [`runs`] the runs.

mod action;
mod canonical;
pub mod properties;
pub mod rules;
pub mod runs;
mod search;
mod tasks;
mod truth;
pub mod world;
