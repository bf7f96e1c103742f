//! The parts of a lease, without queues, stores or clients.

mod bound;
mod listeners;

pub(crate) use auto_mutex_protocol::client::Tenure;
pub(crate) use bound::{Bound, Bounds, Limits};
pub(crate) use listeners::{ListenerKey, Listeners};
