//! Output: results go to standard output, everything else to standard error.

pub(crate) mod chain;
pub(crate) mod json;
pub(crate) mod table;
pub(crate) mod words;

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use self::json::Versioned;
use crate::args::{Format, Global};
use crate::exit::Failure;

/// Standard output. Writing to a pipe without a reader is an error that ends the command quietly.
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

/// Whether standard output is a pipe without a reader. The command would otherwise notice that only at its next write.
pub(crate) fn is_unread() -> bool {
    let out = io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let found = poll(&mut polled, Some(&Timespec::default()));
    found.is_ok() && polled[0].revents().contains(PollFlags::ERR)
}

/// Writes a result in the requested format.
pub(crate) fn document(
    global: &Global,
    document: &impl Serialize,
    table: impl FnOnce(&mut Out) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut out = stdout();
    match global.output.unwrap_or(Format::Table) {
        Format::Table => table(&mut out)?,
        format => json::write(&mut out, &Versioned::new(document), format == Format::Jsonl)?,
    }
    Ok(out.flush()?)
}

/// Like [`document`], for a list `name` whose items become lines of JSONL.
pub(crate) fn list<T: Serialize>(
    global: &Global,
    name: &str,
    items: &[T],
    table: impl FnOnce(&mut Out) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if global.output != Some(Format::Jsonl) {
        return document(global, &json::list(name, items), table);
    }
    let mut out = stdout();
    let mut lines = items.iter().map(Versioned::new);
    lines.try_for_each(|item| json::write(&mut out, &item, true))?;
    Ok(out.flush()?)
}
