//! The connection: slow, cut, half-open, losing what is sent.

mod cut;
mod lossy;
mod several;
mod slow;
