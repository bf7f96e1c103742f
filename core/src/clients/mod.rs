//! What concerns all clients of the process: `exit` knows them, and releases their locks at the end of the process;
//! `order` keeps the order in which tasks take locks.

pub(crate) mod exit;
pub(crate) mod order;
