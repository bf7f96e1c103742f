//! [`prove`]: runs a write of yours with an older and a newer token, in every order of its statements.

mod relay;
mod run;
mod server;

use std::fmt::{self, Display};

use run::run;
use server::Url;
use thiserror::Error;

use crate::Token;

const OLDER: usize = 0;
const NEWER: usize = 1;

/// No stale write landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proof {
    /// In how many orders the statements ran.
    pub schedules: usize,
}

/// Why [`prove`] failed. The text shows the order of the statements, also as the error that a test returns.
#[derive(Error)]
#[non_exhaustive]
pub enum ProveError {
    /// The older holder wrote after the newer one, or the write of the newer one was lost.
    #[error("a stale write landed, in this order of statements:\n{0}")]
    Stale(String),
    /// The newer holder could not write, and it was not the database that refused it.
    #[error("the newer holder could not write, in this order of statements:\n{0}")]
    NewerRefused(String),
    /// A write failed although nothing was in its way.
    #[error("a write fails alone (does `setup` empty the table `auto_mutex_fence`?):\n{0}")]
    Failed(String),
    /// A write left all tables as `setup` had made them, or did not use its URL.
    #[error("`write` changes no table that `setup` made, by way of the URL that it is given")]
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

/// For your tests: proves that a stale holder's `write` can't land, in whatever order the statements of two holders run.
///
/// `setup` makes the tables as they are before, the fence's included, and returns the URL of their PostgreSQL. `write` is
/// your own code: it connects to the URL that it is given, with any driver, and writes something that depends on the token.
///
/// ```no_run
/// use auto_mutex_fence::{Dialect, Fence, Token, prove};
/// use sqlx::{Connection, Executor, PgConnection};
///
/// # type Error = Box<dyn std::error::Error>;
/// /// The code to be tested.
/// async fn set_total(db: &mut PgConnection, lock: impl Fence, total: i64) -> Result<(), Error> {
///     let mut tx = db.begin().await?;
///     lock.fence(&mut tx).await?;
///     sqlx::query("UPDATE report SET total = $1").bind(total).execute(&mut *tx).await?;
///     Ok(tx.commit().await?)
/// }
///
/// # /*
/// #[tokio::test]
/// # */
/// async fn no_stale_total() -> Result<(), Error> {
///     let setup = async || -> Result<String, Error> {
///         let url = "postgres://test@localhost/test";
///         let mut db = PgConnection::connect(url).await?;
///         db.execute("DROP TABLE IF EXISTS report, auto_mutex_fence").await?;
///         db.execute(Dialect::Postgres.migration()).await?;
///         db.execute("CREATE TABLE report (total BIGINT)").await?;
///         db.execute("INSERT INTO report VALUES (0)").await?;
///         Ok(url.to_owned())
///     };
///     let write = async |url: String, token: Token| -> Result<(), Error> {
///         let mut db = PgConnection::connect(&url).await?;
///         let total = token.number() as i64;
///         set_total(&mut db, token, total).await
///     };
///     prove(setup, write).await?;
///     Ok(())
/// }
/// ```
///
/// Without the line with `fence`, the test fails with:
///
/// ```text
/// a stale write landed, in this order of statements:
///   older  BEGIN -> BEGIN
///   newer  BEGIN -> BEGIN
///   newer  UPDATE report SET total = $1 -> UPDATE 1
///   newer  COMMIT -> COMMIT
///   newer  returns -> Ok(())
///   older  UPDATE report SET total = $1 -> UPDATE 1
///   older  COMMIT -> COMMIT
///   older  returns -> Ok(())
/// after the newer write:
///   report {"total": 4000000000000000002}
/// at the end:
///   report {"total": 4000000000000000001}
/// …
/// ```
///
/// # What it does
///
/// It runs the write of an older and that of a newer holder at the same time, again and again, each time after `setup`. Their
/// connections pass through a proxy, which holds back each statement until it is its turn, so that each order is tried once.
/// PostgreSQL itself says whether a statement waits for a lock; no clock decides anything. Deadlocks, serialization failures and
/// other errors of the database are outcomes like others.
///
/// A stale write has landed if the older holder has changed a table after the newer one has written, or if the tables are at the end
/// neither as after one write after the other, nor as after that of the newer holder alone. All tables in the search path of the URL are
/// compared, except for `auto_mutex_fence`, and without identity columns and columns whose default is a sequence, a time, or
/// random: so a number that a refused write has taken is no difference. If `write` stores such values itself, the proof ends with
/// [`ProveError::NotDeterministic`]: leave them to defaults, or pass them in.
///
/// If the database has the locks, in its schema `auto_mutex`, the tokens have tickets, so that they need no table. The newer holder gets the
/// lock before its first statement, and the older one loses it then. So no `setup` has to do anything about the fence.
///
/// # What it finds
///
/// Besides a missing check: a check outside of the transaction that writes, or in another one; a snapshot read (`SELECT` the token,
/// compare it, then write), which only the isolation level `SERIALIZABLE` makes safe; a lock on a row that does not exist yet; a fence after
/// the commit, or one whose error is ignored; a check in a subquery, which isn't repeated after a wait; a token that is cut to 32 bits or
/// goes through a floating-point number. A fence *after* the statements is fine if it comes before the commit (`prove` passes), but
/// what the transaction has read before may be outdated.
///
/// # Limits
///
/// A step is what the driver sends at once. What happens inside one, such as several statements of a simple query, or a function, has no order
/// that could be chosen. Statements that touch no table (`BEGIN`, `SET`, `SELECT 1`, questions about types) run at once. If one write uses
/// several connections at the same time, their statements are not put into all orders. A write that waits for the other one by any
/// means other than the database never ends.
///
/// With four statements each, there are 70 orders; with six each, 924. After 1000, the result is [`ProveError::TooMany`]:
/// [`prove_within`] allows more, or leaves out those that switch often.
///
/// The connection to the server is made without TLS. Retries of `write` are part of it. The proof is about `write` as it runs here: about
/// these rows, and this isolation level.
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

/// As [`prove`], but with at most `schedules` runs, and only such that change from one holder to the other at most
/// `switches` times where both could go on. Most mistakes take one or two.
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
        Ok::<_, ProveError>(Url::parse(url)?)
    };
    let alone = async |url: &Url, who: usize| {
        let outcome = run(url, &[who], &write, &mut || who).await?;
        // Its last step is the return.
        match (outcome.failed[who], outcome.steps.len()) {
            (true, _) => Err(ProveError::Failed(outcome.steps.join("\n"))),
            (false, 1) => Err(ProveError::NothingWritten),
            _ => Ok(outcome.contents),
        }
    };

    // What is right: the writes one after the other, or that of the newer holder alone.
    // The older holder comes last: if `setup` left something of the others, it fails.
    let url = fresh().await?;
    let untouched = run(&url, &[], &write, &mut || OLDER).await?.contents;
    let last = alone(&url, NEWER).await?;
    let again = alone(&fresh().await?, NEWER).await?;
    let url = fresh().await?;
    let first = alone(&url, OLDER).await?;
    let both = alone(&url, NEWER).await?;
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

    // Depth first. For each time that both could go on: whether the other one did than the last time.
    let mut path: Vec<bool> = Vec::new();
    for tried in 0..schedules {
        let (mut depth, mut switched, mut goes) = (0, 0, OLDER);
        let mut choose = || {
            if switched < switches {
                if depth == path.len() {
                    path.push(false);
                }
                if path[depth] {
                    (switched, goes) = (switched + 1, 1 - goes);
                }
                depth += 1;
            }
            goes
        };
        let outcome = run(&fresh().await?, &[OLDER, NEWER], &write, &mut choose).await?;
        path.truncate(depth);
        let failed = outcome.failed[NEWER];
        let right = [&both, &last, &first, &untouched];
        let is_right = right[..if failed { 4 } else { 2 }].contains(&&outcome.contents);
        let is_late = !failed && outcome.contents != outcome.written;
        let schedule = || {
            let texts = [
                outcome.steps.join("\n") + "\n",
                text("after the newer write", &outcome.written),
                text("at the end", &outcome.contents),
                text("right: older, then newer", &both),
                text("right: newer alone", &last),
            ];
            texts.concat()
        };
        if !is_right || is_late {
            return Err(ProveError::Stale(schedule()));
        }
        if failed && !outcome.refused[NEWER] {
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

fn text(when: &str, rows: &[String]) -> String {
    format!("{when}:\n  {}\n", rows.join("\n  "))
}
