//! The end of the process, its forks and its signals. [`os`] is the only file with `unsafe`; [`per_process`] separates
//! the state of a process from that of its forked children.

mod exit;
mod os;
mod per_process;
mod signals;

pub(crate) use exit::{EndsWithProcess, watch};
pub(crate) use os::forks;
pub(crate) use per_process::PerProcess;
pub use signals::{release_on_termination, release_on_termination_within};
