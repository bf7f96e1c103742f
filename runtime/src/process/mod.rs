//! The end of the process, its forks and its signals. [`os`] is the only file with `unsafe`.

mod exit;
mod os;
mod signals;

pub(crate) use exit::{EndsWithProcess, watch};
pub(crate) use os::forks;
pub use signals::{release_on_termination, release_on_termination_within};
