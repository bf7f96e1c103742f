//! What is written: results on standard output, all else on standard error.

pub(crate) mod json;
pub(crate) mod table;
pub(crate) mod words;

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::time::{Duration, Instant};

/// Standard output. A pipe that nobody reads any more is an error that ends the command quietly.
pub(crate) type Out = BufWriter<StdoutLock<'static>>;

pub(crate) fn stdout() -> Out {
    BufWriter::new(io::stdout().lock())
}

/// An error for people.
pub(crate) fn complain(error: &impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "auto-mutex: {error}");
}

/// Whether standard output may be coloured: it is a terminal, and nobody has set `NO_COLOR`.
pub(crate) fn may_color() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stdout().is_terminal()
}

/// A line on standard error that says how far it is, if that is a terminal and it takes long.
pub(crate) struct Progress {
    started: Instant,
    shown: Option<Instant>,
    count: usize,
    is_on: bool,
}

impl Progress {
    const FIRST: Duration = Duration::from_millis(500);
    const EVERY: Duration = Duration::from_millis(100);

    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            shown: None,
            count: 0,
            is_on: io::stderr().is_terminal(),
        }
    }

    /// Says nothing.
    pub(crate) fn silent() -> Self {
        Self {
            is_on: false,
            ..Self::new()
        }
    }

    pub(crate) fn add(&mut self, count: usize) {
        self.count += count;
        let due = match self.shown {
            None => self.started.elapsed() >= Self::FIRST,
            Some(shown) => shown.elapsed() >= Self::EVERY,
        };
        if self.is_on && due {
            self.shown = Some(Instant::now());
            let _ = write!(io::stderr(), "\r{} names…\x1b[K", self.count);
        }
    }

    /// Removes the line.
    pub(crate) fn end(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
