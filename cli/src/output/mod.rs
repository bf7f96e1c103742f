//! Output: results go to standard output, everything else to standard error.

pub(crate) mod chain;
pub(crate) mod json;
pub(crate) mod table;
pub(crate) mod words;

use std::cell::Cell;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Standard output. A pipe without a reader is an error that ends the command quietly.
pub(crate) type Out = BufWriter<StdoutLock<'static>>;

pub(crate) fn stdout() -> Out {
    BufWriter::new(io::stdout().lock())
}

/// Writes an error for people to standard error.
pub(crate) fn complain(error: &impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "auto-mutex: {error}");
}

/// Whether standard output may be coloured: it is a terminal, and `NO_COLOR` is unset or empty.
pub(crate) fn may_color() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stdout().is_terminal()
}

/// Whether standard output is a pipe without a reader. Without this query, the command would notice that only at its
/// next write.
pub(crate) fn is_unread() -> bool {
    let out = io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let found = poll(&mut polled, Some(&Timespec::default()));
    found.is_ok() && polled[0].revents().contains(PollFlags::ERR)
}

/// Shows the number of names so far on standard error, if that is a terminal and the command takes long.
pub(crate) struct Progress {
    started: Instant,
    shown: Cell<Option<Instant>>,
    count: Cell<usize>,
    is_on: bool,
}

impl Progress {
    const FIRST: Duration = Duration::from_millis(500);
    const EVERY: Duration = Duration::from_millis(100);

    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            shown: Cell::new(None),
            count: Cell::new(0),
            is_on: io::stderr().is_terminal(),
        }
    }

    /// A progress that writes nothing.
    pub(crate) fn silent() -> Self {
        let mut progress = Self::new();
        progress.is_on = false;
        progress
    }

    pub(crate) fn add(&self, count: usize) {
        self.count.set(self.count.get() + count);
        let due = match self.shown.get() {
            None => self.started.elapsed() >= Self::FIRST,
            Some(shown) => shown.elapsed() >= Self::EVERY,
        };
        if self.is_on && due {
            self.shown.set(Some(Instant::now()));
            let _ = write!(io::stderr(), "\r{} names…\x1b[K", self.count.get());
        }
    }

    /// Removes the progress line.
    pub(crate) fn end(&self) {
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
