//! Faults of the connection: slow, cut, half-open, losing data.

mod cut;
mod lossy;
mod several;
mod slow;
