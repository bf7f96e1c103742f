//! The public API: a folder for each kind of lock, `client` for clients, and `handle` for what all locks have in
//! common.

pub(crate) mod client;
pub(crate) mod condvar;
pub(crate) mod handle;
pub(crate) mod leader;
pub(crate) mod multi;
pub(crate) mod mutex;
pub(crate) mod rw_lock;
pub(crate) mod semaphore;
