//! Semaphores: several holders in order of arrival, tokens, and deletion.

mod counting;
mod lifecycle;
mod queueing;
mod tokens;

pub(crate) use counting::*;
pub(crate) use lifecycle::*;
pub(crate) use queueing::*;
pub(crate) use tokens::*;
