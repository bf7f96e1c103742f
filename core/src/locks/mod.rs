//! The public interface: a folder for each kind of lock, `client` for what they belong to, and `handle` for what all of them
//! share.

pub(crate) mod client;
pub(crate) mod condvar;
pub(crate) mod handle;
pub(crate) mod multi;
pub(crate) mod mutex;
pub(crate) mod rw_lock;
pub(crate) mod semaphore;
