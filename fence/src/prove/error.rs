//! [`ProveError`], and the steps that it shows.

use std::fmt;

use thiserror::Error;

use super::server::Contents;
use crate::Token;

/// Why [`prove`](super::prove) failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProveError {
    /// A write of the older holder landed although the newer one had written, or a write of the newer one was lost.
    #[error("a stale write landed, in this order of statements:\n{0}")]
    Stale(Schedule),
    /// The newer holder could not write, and it was not the database that refused it.
    #[error("the write of the newer holder failed, in this order of statements:\n{0}")]
    NewerRefused(Schedule),
    /// A write failed although nothing was in its way.
    #[error(
        "a write failed although no other ran beside it (does `setup` empty the table `auto_mutex_fence`?):\n{0}"
    )]
    Failed(Schedule),
    /// A write left all tables as `setup` had made them.
    #[error("the write changes no table that `setup` made")]
    NothingWritten,
    /// What is in the tables doesn't show who wrote it.
    #[error("both holders write the same: let what they write depend on the token")]
    SameContents,
    /// A write that ran twice, alone, did not write the same.
    #[error("a write that runs alone does not always write the same:\n{0}")]
    NotDeterministic(Difference),
    /// There are more schedules than may be tried; those that were tried were fine.
    #[error("{tried} schedules were tried, and there are more: allow more, or fewer switches")]
    TooMany {
        /// How many were tried.
        tried: usize,
    },
    /// `setup` failed.
    #[error("`setup` failed: {0}")]
    Setup(String),
    /// `setup` must return the URL of the database.
    #[error("`setup` returned no URL like postgres://user@host:port/database")]
    Url,
    /// The database could not be observed.
    #[error("the database could not be observed")]
    Server(#[from] tokio_postgres::Error),
    /// A connection could not be passed on.
    #[error("a connection could not be passed on")]
    Io(#[from] std::io::Error),
}

/// The holder that writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Who {
    Older,
    Newer,
}

impl Who {
    pub(super) const BOTH: [Self; 2] = [Self::Older, Self::Newer];

    /// As long as those of a store: a program that makes 32 bits or a `double` of them fails.
    pub(super) fn token(self) -> Token {
        Token::new("prove", 4_000_000_000_000_000_001 + self as u64)
    }
}

/// A statement, and what came of it.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) who: Who,
    pub(super) statement: String,
    pub(super) outcome: String,
}

/// In which order the statements of two writes ran, and what it led to: print it.
#[derive(Debug)]
pub struct Schedule {
    pub(super) steps: Vec<Step>,
    pub(super) contents: Contents,
    /// What else would have been right, and why.
    pub(super) expected: Vec<(&'static str, Contents)>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Step {
            who,
            statement,
            outcome,
        } in &self.steps
        {
            let who = format!("{who:?}").to_lowercase();
            writeln!(f, "  {who}  {statement} -> {outcome}")?;
        }
        show(f, "at the end", &self.contents)?;
        let mut expected = self.expected.iter();
        expected.try_for_each(|(when, contents)| show(f, when, contents))
    }
}

/// What two runs wrote that should have written the same: print it.
#[derive(Debug)]
pub struct Difference(pub(super) Contents, pub(super) Contents);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, "first", &self.0)?;
        show(f, "then", &self.1)
    }
}

fn show(f: &mut fmt::Formatter<'_>, when: &str, contents: &Contents) -> fmt::Result {
    write!(f, "{when}:")?;
    for (table, rows) in contents {
        write!(f, " {table} [{}]", rows.join(", "))?;
    }
    writeln!(f)
}
