//! The lines on a worker's standard streams.

use std::io::{self, BufRead, Write};

use serde::Serialize;

use crate::Failure;

/// A start and an end, in nanoseconds of the common clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) until: u64,
}

pub(super) fn say(word: &str, value: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{word} {}", serde_json::to_string(value)?)?;
    Ok(out.flush()?)
}

/// Announces that everything is set up, and waits for the start.
pub(super) fn ready() -> Result<Span, Failure> {
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
pub(super) fn until_dismissed() {
    let mut line = String::new();
    while io::stdin()
        .lock()
        .read_line(&mut line)
        .is_ok_and(|read| read > 0)
    {
        line.clear();
    }
}
