//! What a client does beside its queues: `deadlock` searches for deadlocks, `order` keeps the order of locks, and `exit`
//! releases all locks at the end of the process.

pub(crate) mod deadlock;
pub(crate) mod exit;
pub(crate) mod order;
