//! Leading: what a process does with the seat that it stands for. The seat is a mutex, whose rules are those of
//! [`client`](crate::client); these begin where its call is granted or fails.
//!
//! | file | what it decides |
//! |---|---|
//! | `rules` | which options are refused, when a body is told to end, and whether a grant leaves time to begin |
//! | `term` | what ends a term, and what happens to a body that goes on after that |
//! | `seat` | after an error or a term: whether the seat stands again, and when |
//! | `watch` | when whoever watches looks who leads |
//!
//! The lock is released when the body has ended, whatever ended its term: until then, the client renews the lease as
//! for any other hold. [`Effect::GiveUp`] is the only exception.

mod rules;
mod seat;
mod term;
#[cfg(test)]
mod tests;
mod watch;

pub use self::rules::{Options, Refused, Rules};
pub use self::seat::{Failed, Seat, ends_lead};
pub use self::term::{Effect, Input, Seen, Term};
pub use self::watch::looks_at;
