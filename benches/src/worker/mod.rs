//! A process of a scenario: this program, started again with a [`Job`]. Lines on its standard streams control it.
//!
//! | line out | line in |
//! |---|---|
//! | `ready`, when the worker is set up | `go START UNTIL`, in nanoseconds of the common clock |
//! | `holding JSON`, before `ready`, when a process holds all of its names; `started JSON`, when all clients of a herd have had a turn; `served TIME`, when those of a fleet have; `waiting JSON`, when all waiters or tasks of a crowd wait | |
//! | `done JSON`, at the end | the end of the input: the worker ends its job |

mod calls;
mod fleet;
mod herd;
mod names;
mod nested;
pub(crate) mod talk;
mod turns;

pub(crate) use calls::{Caller, Calls, Kind};
pub(crate) use herd::{Herded, Started};
pub(crate) use names::{Drained, Holding, Waiting};
pub(crate) use nested::Found;

use crate::Failure;
use crate::job::Job;
use talk::say;

/// Does the job in the first argument.
pub(crate) fn serve(job: &str) -> Result<(), Failure> {
    match serde_json::from_str(job)? {
        Job::Turns(job) => turns::run(&job),
        Job::Hold(job) => names::hold(&job),
        Job::Wait(job) => names::wait(&job),
        Job::Herd(job) => herd::run(&job),
        Job::Fleet(job) => fleet::run(&job),
        Job::Nested(job) => nested::run(&job),
        Job::Calls { milliseconds } => say("done", &calls::run(milliseconds)?),
    }
}
