//! [`prove`]: runs a write of yours with an older and a newer token, in every order of its statements.

mod proxy;
mod run;
mod server;

use std::fmt::{self, Display};
use std::sync::Arc;

use run::{Outcome, run};
use server::{Contents, Url};
use thiserror::Error;

use crate::Token;

/// Proves that no order of its statements lets a stale `write` land.
///
/// # Errors
///
/// See [`ProveError`].
pub async fn prove<S: Display, T, E: Display>(
    setup: impl AsyncFnMut() -> Result<String, S>,
    write: impl AsyncFn(String, Token) -> Result<T, E>,
) -> Result<Proof, ProveError> {
    prove_within(1000, usize::MAX, setup, write).await
}

/// No stale write landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proof {
    /// In how many orders the statements ran.
    pub schedules: usize,
}

/// Why [`prove`] failed. Its text has the order of the statements, also if a test returns it as its error.
#[derive(Error)]
#[non_exhaustive]
pub enum ProveError {
    /// A write of the older holder landed although the newer one had written, or a write of the newer one was lost.
    #[error("a stale write landed, in this order of statements:\n{0}")]
    Stale(String),
    /// The newer holder could not write, and it was not the database that refused it.
    #[error("the newer holder could not write, in this order of statements:\n{0}")]
    NewerRefused(String),
    /// A write failed although nothing was in its way.
    #[error("a write fails alone (does `setup` empty the table `auto_mutex_fence`?):\n{0}")]
    Failed(String),
    /// A write left all tables as `setup` had made them.
    #[error("`write` changes no table that `setup` made")]
    NothingWritten,
    /// What is in the tables doesn't show who wrote it.
    #[error("both holders write the same: let what they write depend on the token")]
    SameContents,
    /// A write that ran twice, alone, did not write the same.
    #[error("`write` does not always write the same:\n{0}")]
    NotDeterministic(String),
    /// There are more schedules than may be tried. Nothing was wrong in those that were.
    #[error("after {0} schedules, there are more: allow more schedules, or fewer switches")]
    TooMany(usize),
    /// `setup` failed.
    #[error("`setup` failed: {0}")]
    Setup(String),
    /// The database could not be reached or observed.
    #[error("the database could not be observed: {0}")]
    Database(#[from] Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Debug for ProveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// The holder that writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Older,
    Newer,
}

impl Who {
    const BOTH: [Self; 2] = [Self::Older, Self::Newer];

    /// As long as those of a store: a program that makes 32 bits or a `double` of them fails.
    fn token(self) -> Token {
        Token::new("prove", 4_000_000_000_000_000_001 + self as u64)
    }
}

/// As [`prove`], but with at most `schedules` runs, and only such that leave a writer that could go on at most `switches`
/// times. Most mistakes take one or two.
///
/// # Errors
///
/// See [`ProveError`].
pub async fn prove_within<S: Display, T, E: Display>(
    schedules: usize,
    switches: usize,
    mut setup: impl AsyncFnMut() -> Result<String, S>,
    write: impl AsyncFn(String, Token) -> Result<T, E>,
) -> Result<Proof, ProveError> {
    let mut fresh = async || {
        let url = setup().await;
        let url = url.map_err(|error| ProveError::Setup(format!("{error:#}")))?;
        Ok::<_, ProveError>(Arc::new(Url::parse(&url)?))
    };
    let (older, newer) = ([Who::Older], [Who::Newer]);
    let only = |able: &[Who]| able[0];

    // What is right: the writes one after the other, or that of the newer holder alone.
    // The older holder comes last: if `setup` left something of the others, it fails.
    let url = fresh().await?;
    let untouched = run(&url, &[], &write, &mut { only }).await?.contents;
    let last = alone(run(&url, &newer, &write, &mut { only }).await?)?;
    let again = alone(run(&fresh().await?, &newer, &write, &mut { only }).await?)?;
    let url = fresh().await?;
    let first = alone(run(&url, &older, &write, &mut { only }).await?)?;
    let both = alone(run(&url, &newer, &write, &mut { only }).await?)?;
    if last != again {
        let texts = [text("first", &last), text("then", &again)];
        return Err(ProveError::NotDeterministic(texts.concat()));
    }
    if last == untouched {
        return Err(ProveError::NothingWritten);
    }
    if last == first {
        return Err(ProveError::SameContents);
    }

    // Depth first. For each time that both could go on: whether the other one went.
    let mut path: Vec<bool> = Vec::new();
    for tried in 0..schedules {
        let (mut depth, mut switched, mut goes) = (0, 0, Who::Older);
        let mut choose = |able: &[Who]| {
            if able.len() == 2 && switched < switches {
                if depth == path.len() {
                    path.push(false);
                }
                if path[depth] {
                    switched += 1;
                    goes = Who::BOTH[1 - goes as usize];
                }
                depth += 1;
            } else if !able.contains(&goes) {
                goes = able[0];
            }
            goes
        };
        let outcome = run(&fresh().await?, &Who::BOTH, &write, &mut choose).await?;
        path.truncate(depth);
        let [_, failed] = outcome.failed;
        let right = [&both, &last, &first, &untouched];
        let right = right[..if failed { 4 } else { 2 }].contains(&&outcome.contents);
        let late = !failed && outcome.contents != outcome.written;
        let schedule = || {
            let texts = [
                text("after the newer write", &outcome.written),
                text("at the end", &outcome.contents),
                text("right: older, then newer", &both),
                text("right: newer alone", &last),
            ];
            format!("{}\n{}", outcome.steps, texts.concat())
        };
        if !right || late {
            return Err(ProveError::Stale(schedule()));
        }
        if failed && !outcome.refused[1] {
            return Err(ProveError::NewerRefused(schedule()));
        }
        while path.pop_if(|other| *other).is_some() {}
        match path.last_mut() {
            Some(other) => *other = true,
            None => {
                return Ok(Proof {
                    schedules: tried + 1,
                });
            }
        }
    }
    Err(ProveError::TooMany(schedules))
}

/// What a write left with which nothing interfered.
fn alone(outcome: Outcome) -> Result<Contents, ProveError> {
    match outcome.failed {
        [false, false] => Ok(outcome.contents),
        _ => Err(ProveError::Failed(outcome.steps)),
    }
}

fn text(when: &str, contents: &Contents) -> String {
    let tables = contents.iter().filter(|(_, rows)| !rows.is_empty());
    let tables = tables.map(|(table, rows)| format!("  {table}: {}\n", rows.join(", ")));
    format!("{when}:\n{}", tables.collect::<String>())
}
