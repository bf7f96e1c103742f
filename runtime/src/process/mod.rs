//! What happens to the process: its end, forks and signals. [`os`] is the only file with `unsafe`.

mod exit;
mod os;
mod signals;

pub(crate) use exit::{EndsWithProcess, watch};
pub(crate) use os::forks;
pub use signals::release_on_termination;
