//! [`prove`]: runs a write of yours with an older and a newer token, in every order of its statements.

mod error;
mod proxy;
mod run;
mod server;
mod wire;

use std::fmt::Display;
use std::sync::Arc;

use error::Who;
pub use error::{Difference, ProveError, Schedule};
use run::{Outcome, run};
use server::Contents;

use crate::Token;

/// Proves with [`Prover::new`] that no order of its statements lets a stale `write` land.
///
/// # Errors
///
/// See [`ProveError`].
pub async fn prove<S: Display, T, E: Display>(
    setup: impl AsyncFnMut() -> Result<String, S>,
    write: impl AsyncFn(String, Token) -> Result<T, E>,
) -> Result<Proof, ProveError> {
    Prover::new().prove(setup, write).await
}

/// No stale write landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proof {
    /// In how many orders the statements ran.
    pub schedules: usize,
}

/// How many schedules [`prove`] may try.
#[derive(Clone, Copy, Debug)]
pub struct Prover {
    schedules: usize,
    switches: usize,
}

impl Default for Prover {
    fn default() -> Self {
        Self::new()
    }
}

impl Prover {
    /// At most 1000 schedules, with any number of switches.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            schedules: 1000,
            switches: usize::MAX,
        }
    }

    /// How many schedules may be tried. If there are more, the result is [`ProveError::TooMany`].
    #[must_use]
    pub const fn schedules(self, schedules: usize) -> Self {
        Self { schedules, ..self }
    }

    /// Tries only schedules that leave a writer that could go on at most `switches` times. Most mistakes take one or two.
    #[must_use]
    pub const fn switches(self, switches: usize) -> Self {
        Self { switches, ..self }
    }

    /// See [`prove`].
    ///
    /// # Errors
    ///
    /// See [`ProveError`].
    pub async fn prove<S: Display, T, E: Display>(
        self,
        mut setup: impl AsyncFnMut() -> Result<String, S>,
        write: impl AsyncFn(String, Token) -> Result<T, E>,
    ) -> Result<Proof, ProveError> {
        let mut fresh = async || {
            let url = setup()
                .await
                .map_err(|error| ProveError::Setup(format!("{error:#}")))?;
            Ok::<_, ProveError>(Arc::new(url.parse::<server::Url>()?))
        };
        let (older, newer) = ([Who::Older], [Who::Newer]);
        let only = |able: &[Who]| able[0];

        // What is right: the writes one after the other, or that of the newer holder alone.
        let url = fresh().await?;
        let untouched = run(&url, &[], &write, &mut { only }).await?.contents;
        let first = alone(run(&url, &older, &write, &mut { only }).await?)?;
        let both = alone(run(&url, &newer, &write, &mut { only }).await?)?;
        let last = alone(run(&fresh().await?, &newer, &write, &mut { only }).await?)?;
        let again = alone(run(&fresh().await?, &newer, &write, &mut { only }).await?)?;
        if last != again {
            return Err(ProveError::NotDeterministic(Difference(last, again)));
        }
        if last == untouched {
            return Err(ProveError::NothingWritten);
        }
        if last == first {
            return Err(ProveError::SameContents);
        }

        // Depth first. For each time that both could go on: whether the other one went.
        let mut path: Vec<bool> = Vec::new();
        for tried in 0..self.schedules {
            let (mut depth, mut switches, mut goes) = (0, 0, Who::Older);
            let mut choose = |able: &[Who]| {
                if able.len() == 2 && switches < self.switches {
                    if depth == path.len() {
                        path.push(false);
                    }
                    if path[depth] {
                        switches += 1;
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
            let failed = matches!(outcome.results, [_, Some(Err(_))]);
            let right = [&both, &last, &first, &untouched];
            let right = right[..if failed { 4 } else { 2 }].contains(&&outcome.contents);
            if !right || (failed && !outcome.refused) {
                let schedule = Schedule {
                    steps: outcome.steps,
                    contents: outcome.contents,
                    expected: vec![("older, then newer", both), ("newer alone", last)],
                };
                return Err(match right {
                    true => ProveError::NewerRefused(schedule),
                    false => ProveError::Stale(schedule),
                });
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
        Err(ProveError::TooMany {
            tried: self.schedules,
        })
    }
}

/// What a write left with which nothing interfered.
fn alone(outcome: Outcome) -> Result<Contents, ProveError> {
    let Outcome {
        contents,
        results,
        steps,
        ..
    } = outcome;
    match results.into_iter().flatten().all(|result| result.is_ok()) {
        true => Ok(contents),
        false => Err(ProveError::Failed(Schedule {
            steps,
            contents,
            expected: Vec::new(),
        })),
    }
}
