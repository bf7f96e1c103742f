//! What concerns all clients of the process: `exit` releases their locks at the end of the process, and `order` records
//! the order in which tasks take locks.

pub(crate) mod exit;
pub(crate) mod order;
