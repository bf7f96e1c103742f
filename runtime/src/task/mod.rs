//! The task or thread that runs here. This folder knows nothing of locks.

mod home;
mod id;

pub(crate) use self::home::{home, runs_a_task};
pub(crate) use self::id::TaskId;
