//! A process of a scenario: this program, started again with a [`Job`]. Lines on its standard streams control it.
//!
//! | line out | line in |
//! |---|---|
//! | `ready`, when the worker is set up | `go START UNTIL`, in nanoseconds of the common clock |
//! | `holding JSON`, before `ready`, when a process holds all of its names; `started JSON`, when all clients of a herd have had a turn; `waiting JSON`, when all waiters or tasks of a crowd wait | |
//! | `done JSON`, at the end | the end of the input: the worker ends its job |

mod calls;
mod herd;
mod names;
mod nested;
mod turns;

use std::io::{self, BufRead, Write};

use serde::Serialize;

pub(crate) use calls::{Caller, Calls, Kind};
pub(crate) use herd::{Herded, Started};
pub(crate) use names::{Drained, Holding, Waiting};
pub(crate) use nested::Found;

use crate::Failure;
use crate::job::Job;

/// A start and an end, in nanoseconds of the common clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) until: u64,
}

/// Does the job in the first argument.
pub(crate) fn serve(job: &str) -> Result<(), Failure> {
    match serde_json::from_str(job)? {
        Job::Turns(job) => turns::run(&job),
        Job::Hold(job) => names::hold(&job),
        Job::Wait(job) => names::wait(&job),
        Job::Herd(job) => herd::run(&job),
        Job::Nested(job) => nested::run(&job),
        Job::Calls { milliseconds } => say("done", &calls::run(milliseconds)?),
    }
}

fn say(word: &str, value: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{word} {}", serde_json::to_string(value)?)?;
    Ok(out.flush()?)
}

/// Announces that everything is set up, and waits for the start.
fn ready() -> Result<Span, Failure> {
    say("ready", &())?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let mut words = line.split_whitespace();
    if words.next() != Some("go") {
        return Err("the benchmark ended".into());
    }
    let mut number = || words.next().unwrap_or_default().parse();
    Ok(Span {
        start: number()?,
        until: number()?,
    })
}

/// Waits until the benchmark closes the input.
fn until_dismissed() {
    let mut line = String::new();
    while io::stdin()
        .lock()
        .read_line(&mut line)
        .is_ok_and(|read| read > 0)
    {
        line.clear();
    }
}
