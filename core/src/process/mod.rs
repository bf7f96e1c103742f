//! The end of the process, its forks and its signals. Only [`os`] and [`handler`] have `unsafe`.

mod exit;
mod handler;
mod os;
mod per_process;
mod signals;

pub(crate) use exit::{EndsWithProcess, watch};
pub(crate) use os::{forks, register};
pub(crate) use per_process::PerProcess;
pub use signals::{release_on_termination, release_on_termination_within};
