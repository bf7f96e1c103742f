//! [`prove`]: runs a write of yours with an older and a newer token, in every order of its statements.

mod relay;
mod run;
mod server;

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

use run::{Action, Outcome, run};
use server::Url;
use thiserror::Error;

use crate::Token;

const OLDER: usize = 0;
const NEWER: usize = 1;
/// Comes after the newer holder, if that has died.
const THIRD: usize = 2;

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
    /// The newer holder's write went by what was there before the older one wrote: read after the fence.
    #[error("the older holder's write was lost, in this order of statements:\n{0}")]
    LostUpdate(String),
    /// The newer holder could not write, and it was not the database that refused it.
    #[error("the newer holder could not write, in this order of statements:\n{0}")]
    NewerRefused(String),
    /// The limit of steps or of time was reached.
    #[error(
        "`write` doesn't end within the limits of the prover, in this order of statements:\n{0}"
    )]
    Endless(String),
    /// A write failed although nothing was in its way.
    #[error("a write fails alone (does `setup` empty the table `auto_mutex_fence`?):\n{0}")]
    Failed(String),
    /// A write left all tables as `setup` had made them, or did not use its URL.
    #[error(
        "`write` changes no table that `setup` made: let it connect with the URL that it is given"
    )]
    NothingWritten,
    /// What is in the tables doesn't show who wrote it.
    #[error("both holders write the same: let what they write depend on the token")]
    SameContents,
    /// A write that ran twice, alone, did not write the same.
    #[error(
        "`write` does not always write the same: `Prover::ignore` leaves out a table or column{0}"
    )]
    NotDeterministic(String),
    /// There are more schedules than may be tried. Nothing was wrong in those that were.
    #[error("{0} schedules were run, and there are more: allow more schedules, or fewer switches")]
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

/// For your tests: proves that a stale holder's `write` can't land, in whatever order the statements of two holders
/// run.
///
/// `setup` makes the tables as they are before, the fence's included, and returns the URL of their PostgreSQL. `write`
/// is your own code: it connects to the URL that it is given, with any driver, and writes something that depends on the
/// token.
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
/// the older holder has changed what the newer one had written:
///   - report {"total": 4000000000000000002}
///   + report {"total": 4000000000000000001}
/// ```
///
/// # What it does
///
/// It runs the write of an older and that of a newer holder at the same time, again and again, each time after `setup`.
/// Their connections pass through a proxy, which holds back each statement until it is its turn, so that each order is
/// tried once. PostgreSQL itself says whether a statement waits for a lock; no clock decides anything. Deadlocks,
/// serialization failures and other errors of the database are outcomes like others. A holder that tries again what had
/// no effect, such as a lock with `NOWAIT`, lets the other one go on first.
///
/// Then the older holder stops before each of its statements while the newer one writes. It is killed there, and comes
/// back with its token; or the server ends its connection if that is in a transaction, and it goes on. The newer holder
/// is killed before each of its statements, too: the older one goes on, and a third holder must be able to write.
///
/// A stale write has landed if the older holder has changed a table after the newer one has changed one. The older
/// holder's write was lost ([`ProveError::LostUpdate`]) if it came first, and the tables are at the end as after the
/// newer one's alone. All tables in the search path of the URL are compared, except for `auto_mutex_fence`, and without
/// identity columns and columns whose default is a sequence, a time, or random: so a number that a refused write has
/// taken is no difference. If `write` stores such values itself, or a row for each attempt, [`Prover::ignore`] leaves
/// out the column or table.
///
/// If the database has the locks, in its schema `auto_mutex`, the tokens have tickets, so that they need no table. The
/// newer holder gets the lock before its first statement, and the older one loses it then. So no `setup` has to do
/// anything about the fence.
///
/// # What it finds
///
/// Besides a missing check: a check outside of the transaction that writes, or in another one; a snapshot read
/// (`SELECT` the token, compare it, then write), which only the isolation level `SERIALIZABLE` makes safe; a lock on a
/// row that does not exist yet; a fence after the commit, in a savepoint that is rolled back, or of another name, or
/// one whose error is ignored; a write on a second connection, or on another one after the one with the fence was lost;
/// a check in a subquery, which isn't repeated after a wait; a token that is cut to 32 bits or goes through a
/// floating-point number; a sum of what was read before the fence; a row that a killed process leaves behind and that
/// keeps the others out. It judges 33 such writes of its own tests, 17 of them right.
///
/// A function, a `DO` block, or several statements that are sent at once are also stopped before each write in them, by
/// a trigger `auto_mutex_pause` on each table. So a check-then-write in PL/pgSQL is found, too.
///
/// # Limits
///
/// It is for PostgreSQL alone. For MySQL, MariaDB and SQLite, follow the guide's rules, and test with two connections
/// that the second holder waits, and that the first one is refused after that.
///
/// - A step is what the driver sends at once. Not seen inside of one: triggers of yours and functions that an `INSERT`
///   or `UPDATE` calls, and what a function reads between two writes. Statements that touch no table (`BEGIN`, `SET`,
///   `SELECT 1`, questions about types) run at once.
/// - The URL needs the right to create triggers on the tables. While a function is stopped, its `statement_timeout` and
///   `lock_timeout` run.
/// - If one write uses several connections at the same time, their statements are not put into all orders. Of values
///   that a right write takes from a sequence itself, leave out the column.
/// - A lost update shows only if the tables differ: let what `write` adds depend on the token.
/// - It must not block the thread: with a blocking driver, use `spawn_blocking`. A write that waits for the other one
///   by any means other than the database ends as [`ProveError::Endless`].
///
/// With four statements each, there are 70 orders, and 25 runs in which somebody is killed or disconnected; with six
/// each, 924 and 49. After 1000 runs, the result is [`ProveError::TooMany`]: [`Prover`] allows more, or leaves out the
/// orders that switch often.
///
/// The connection to the server is made without TLS. Retries of `write` are part of it. The proof is about `write` as
/// it runs here: about these rows, and this isolation level.
///
/// # Errors
///
/// See [`ProveError`].
pub async fn prove<S: Display, T, E: Display>(
    setup: impl AsyncFnMut() -> Result<String, S>,
    write: impl AsyncFn(String, Token) -> Result<T, E>,
) -> Result<Proof, ProveError> {
    Prover::default().prove(setup, write).await
}

/// [`prove`] with other limits, or without some tables and columns.
///
/// ```
/// use auto_mutex_fence::Prover;
///
/// let prover = Prover { switches: 2, ignore: &["audit", "invoice.updated_at"], ..Prover::default() };
/// // prover.prove(setup, write).await?;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Prover<'a> {
    /// The most runs; 1000 by default.
    pub schedules: usize,
    /// In each order, at most so many changes from one holder to the other where both could go on. Most mistakes take
    /// one or two. No limit by default.
    pub switches: usize,
    /// The most statements in a run; 500 by default.
    pub steps: usize,
    /// At most so much time for a run; a minute by default.
    pub time: Duration,
    /// Tables, such as `audit`, and columns, such as `invoice.updated_at`, whose contents don't count.
    pub ignore: &'a [&'a str],
}

impl Default for Prover<'_> {
    fn default() -> Self {
        Self {
            schedules: 1000,
            switches: usize::MAX,
            steps: 500,
            time: Duration::from_secs(60),
            ignore: &[],
        }
    }
}

impl Prover<'_> {
    /// As [`prove`].
    ///
    /// # Errors
    ///
    /// See [`ProveError`].
    pub async fn prove<S: Display, T, E: Display>(
        &self,
        mut setup: impl AsyncFnMut() -> Result<String, S>,
        write: impl AsyncFn(String, Token) -> Result<T, E>,
    ) -> Result<Proof, ProveError> {
        let mut fresh = async || {
            let url = setup().await;
            let url = url.map_err(|error| ProveError::Setup(format!("{error:#}")))?;
            Ok::<_, ProveError>(Url::parse(url)?)
        };
        let alone = async |url: &Url, who: usize| {
            let outcome = run(self, url, &[who], false, &write, &mut |_| Action::Goes(who)).await?;
            // Its last step is the return.
            match (outcome.failed[who], outcome.steps.len()) {
                _ if outcome.is_endless => Err(ProveError::Endless(steps(&outcome))),
                (true, _) => Err(ProveError::Failed(steps(&outcome))),
                (false, 1) => Err(ProveError::NothingWritten),
                _ => Ok(outcome),
            }
        };

        // What is right: the writes one after the other, or that of the newer holder alone.
        // The older holder comes last: if `setup` left something of the others, it fails.
        let url = fresh().await?;
        let last = alone(&url, NEWER).await?;
        let again = alone(&fresh().await?, NEWER).await?;
        let url = fresh().await?;
        let first = alone(&url, OLDER).await?;
        let both = alone(&url, NEWER).await?;
        if last.end() != again.end() {
            let difference = difference(last.end(), again.end());
            return Err(ProveError::NotDeterministic(difference));
        }
        if last.states.len() == 1 {
            return Err(ProveError::NothingWritten);
        }
        if last.end() == first.end() {
            return Err(ProveError::SameContents);
        }
        // By the number of changes that the older holder has made before.
        let mut right = BTreeMap::from([(0, last.end().to_vec())]);
        right.insert(first.states.len() - 1, both.end().to_vec());

        let mut schedules = 0;
        let mut attempt = async |choose: &mut dyn FnMut(&[usize]) -> Action| {
            if schedules == self.schedules {
                return Err(ProveError::TooMany(schedules));
            }
            schedules += 1;
            let url = fresh().await?;
            let both = [OLDER, NEWER];
            let mut outcome = run(self, &url, &both, false, &write, choose).await?;
            // Who has died comes back: the older holder with its token, and the newer one by a grant of its own.
            let back = match outcome.died {
                [true, ..] => OLDER,
                [_, true, _] => THIRD,
                _ => return judge(&outcome, &right),
            };
            if back == OLDER && !outcome.failed[NEWER] {
                let landed = outcome.changes(OLDER);
                right
                    .entry(landed)
                    .or_insert_with(|| outcome.end().to_vec());
            }
            let mut goes = |_: &[usize]| Action::Goes(back);
            let later = run(self, &url, &[back], true, &write, &mut goes).await?;
            outcome = outcome.then(back, later);
            judge(&outcome, &right)
        };

        // The older holder stops somewhere, and is killed or loses its connections; or the newer one is killed
        // meanwhile.
        let hurt = async {
            for before in 0.. {
                for fate in [Action::Dies(OLDER), Action::Disconnects(OLDER)] {
                    let mut script = Script([before, usize::MAX], [Some(fate), None]);
                    attempt(&mut |can| script.next(can)).await?;
                    if script.1[OLDER].is_some() {
                        return Ok(());
                    }
                }
                for after in 1.. {
                    let mut script = Script([before, after], [None, Some(Action::Dies(NEWER))]);
                    attempt(&mut |can| script.next(can)).await?;
                    if script.1[NEWER].is_some() {
                        break;
                    }
                }
            }
            Ok(())
        }
        .await;

        // Depth first. For each time that both could go on: whether the other one did than the last time.
        let ordered = async {
            let mut path: Vec<bool> = Vec::new();
            loop {
                let (mut depth, mut switched, mut goes) = (0, 0, OLDER);
                let mut choose = |can: &[usize]| {
                    if let [only] = can {
                        return Action::Goes(*only);
                    }
                    if switched < self.switches {
                        if depth == path.len() {
                            path.push(false);
                        }
                        if path[depth] {
                            (switched, goes) = (switched + 1, 1 - goes);
                        }
                        depth += 1;
                    }
                    Action::Goes(goes)
                };
                attempt(&mut choose).await?;
                path.truncate(depth);
                while path.pop_if(|other| *other).is_some() {}
                match path.last_mut() {
                    Some(other) => *other = true,
                    None => return Ok(()),
                }
            }
        }
        .await;
        // The latter has the shorter texts, if it comes to its end.
        match ordered {
            Err(ProveError::TooMany(_)) => hurt.and(ordered)?,
            ordered => ordered.and(hurt)?,
        }
        Ok(Proof { schedules })
    }
}

/// Each goes so many steps, and then meets its fate; after that, whoever can goes.
struct Script([usize; 2], [Option<Action>; 2]);

impl Script {
    fn next(&mut self, can: &[usize]) -> Action {
        for who in [OLDER, NEWER].into_iter().filter(|who| can.contains(who)) {
            if self.0[who] > 0 {
                self.0[who] -= 1;
                return Action::Goes(who);
            }
            if let Some(fate) = self.1[who].take() {
                return fate;
            }
        }
        Action::Goes(can[0])
    }
}

/// `right` is what has to be in the tables when the newer holder has written, after so many changes of the older one.
fn judge(outcome: &Outcome, right: &BTreeMap<usize, Vec<String>>) -> Result<(), ProveError> {
    let states = &outcome.states;
    let text = |heading: &str, before: &[String], after: &[String]| {
        let (steps, difference) = (steps(outcome), difference(before, after));
        format!("{steps}\n{heading}:{difference}")
    };
    if outcome.is_endless {
        return Err(ProveError::Endless(steps(outcome)));
    }
    // From the first change of a newer holder on, the older one may change nothing.
    let newer = states.iter().position(|(who, _)| *who > Some(OLDER));
    let newer = newer.unwrap_or(states.len());
    let mut late = states[newer..].iter();
    if let Some(late) = late.position(|(who, _)| *who == Some(OLDER)) {
        let [before, after] = [newer + late - 1, newer + late].map(|at| &states[at].1);
        let heading = "the older holder has changed what the newer one had written";
        return Err(ProveError::Stale(text(heading, before, after)));
    }
    let last = if outcome.died[NEWER] { THIRD } else { NEWER };
    if outcome.failed[last] && !outcome.refused[last] {
        return Err(ProveError::NewerRefused(steps(outcome)));
    }
    if outcome.failed[last] || outcome.died.contains(&true) {
        return Ok(());
    }
    let (landed, end) = (outcome.changes(OLDER), outcome.end());
    let Some(should) = right.get(&landed).filter(|should| *should != end) else {
        return Ok(());
    };
    let text = text("should be (-), and is (+)", should, end);
    match right.range(..landed).any(|(_, fewer)| fewer == end) {
        true => Err(ProveError::LostUpdate(text)),
        false => Err(ProveError::Stale(text)),
    }
}

/// The steps, at most 25 lines.
fn steps(outcome: &Outcome) -> String {
    let mut steps = outcome.steps.clone();
    if let Some(more @ 1..) = steps.len().checked_sub(24) {
        let left_out = format!("  … {more} more …");
        steps.splice(12..12 + more, [left_out]);
    }
    steps.join("\n")
}

/// The rows that are there no more, and those that are new: at most five of each.
fn difference(before: &[String], after: &[String]) -> String {
    let rows = |sign, rows: &[String], others: &[String]| {
        let rows = rows.iter().filter(|row| !others.contains(row)).take(5);
        rows.map(|row| format!("\n  {sign} {row}"))
            .collect::<String>()
    };
    rows('-', before, after) + &rows('+', after, before)
}
