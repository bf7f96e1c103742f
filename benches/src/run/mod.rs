//! Runs the processes of a scenario: pins them to processors, determines their order, and measures the load.

mod child;
mod contest;
mod fleet;
mod order;
pub(crate) mod pin;
mod window;

pub(crate) use child::Child;
pub(crate) use contest::{Contest, contest};
pub(crate) use fleet::Fleets;
pub(crate) use order::order;
pub(crate) use pin::Placement;
pub(crate) use window::{Window, window};
