//! `auto-mutex run`: runs a command under a lock, in two processes. The one that the user has started is the runner: it
//! runs the command and passes signals on. It starts the holder, which takes the lock and renews its lease. While one
//! of them is stopped or killed, the other one keeps the lease, or ends the command before the lease ends.
//!
//! - `runner.rs`, `holder.rs`: the two processes. `messages.rs`: what they tell each other.
//! - `guard.rs`: the lock. `group.rs`: the command's process group.

mod group;
mod guard;
mod holder;
mod messages;
mod runner;

use std::time::Duration;

use crate::args::{Global, Run};
use crate::exit::{Failure, Outcome};

/// Set for the holder only, never for the command.
const IS_HOLDER: &str = "AUTO_MUTEX_RUN_HOLDER";

/// How often the end of the command's group is looked for, which no event tells.
const LOOK: Duration = Duration::from_millis(20);

/// After how long without a renewal the lock is lost.
fn lease(args: &Run) -> Duration {
    args.expire.map_or(args.lease, |it| it.min(args.lease))
}

/// The exit codes of `run` itself: see `run --help`.
mod code {
    pub(super) const UNAVAILABLE: u8 = 69;
    pub(super) const HELD: u8 = 75;
    pub(super) const LOST: u8 = 79;
    pub(super) const CANNOT_RUN: u8 = 126;
    pub(super) const NOT_FOUND: u8 = 127;
}

pub(crate) fn run(global: &Global, args: &Run) -> Outcome {
    if args.name.contains('%') {
        return Err(Failure::Usage(
            "give the name as a program does, without percent-encoding".to_owned(),
        ));
    }
    match std::env::var_os(IS_HOLDER) {
        Some(_) => holder::run(global, args),
        None => runner::run(args),
    }
}
