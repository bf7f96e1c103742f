//! The task or thread that runs here. This folder knows nothing of locks.

mod home;
mod id;
mod workers;

pub(crate) use self::home::{Home, runs_a_task};
pub(crate) use self::id::TaskId;
pub(crate) use self::workers::{BlockedWorker, all_blocked};
