//! A contest: many tasks of many processes use one lock or several, and a witness watches them.
//!
//! Output lines: `begun`; `violation …` for an event that must never happen; `lost WHO CAUSE` for a loss that a task
//! noticed; at the end `task WHO turns=… longest_ms=… unavailable=… cancelled=… deadlocks=…` for each task, then
//! `done`.

mod crossed;
mod handoff;
mod kept;
mod kind;
mod lead;
mod recorded;
mod tally;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError, LossCause};

use kept::Visits;
pub(super) use kind::Kind;
use tally::Tally;

use super::serve::say;
use crate::seed::Seed;

pub(super) struct Contest {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) duration: Duration,
    pub(super) tasks: u64,
    pub(super) witness: u16,
    pub(super) seed: u64,
    /// The longest pause after a turn, in microseconds.
    pub(super) pause: u64,
    /// The longest time for which one turn in thirty-two holds the lock, in milliseconds. All other turns are short.
    pub(super) stay: u64,
    /// The file in which the contest records its history, if any; see [`history`](crate::history).
    pub(super) file: Option<PathBuf>,
}

/// Whether `line` reports a loss that a process cannot suffer just by being late, as on a machine that stands still.
pub fn is_strange_loss(line: &str) -> bool {
    line.starts_with("lost ") && !line.ends_with(&format!("{:?}", LossCause::NotRenewed))
}

/// The state of one task of a contest.
struct Contestant {
    client: Client,
    name: String,
    who: String,
    until: Instant,
    over: Arc<AtomicBool>,
    seed: Seed,
    pause: u64,
    stay: u64,
    visits: Visits,
    tally: Tally,
}

impl Contest {
    /// Runs the contest until its time is over, or `enough` completes.
    pub(super) async fn run(self, client: &Client, enough: impl Future<Output = ()>) {
        say("begun");
        let over = Arc::new(AtomicBool::new(false));
        let until = Instant::now() + self.duration;
        let tasks: Vec<_> = (0..self.tasks)
            .map(|number| {
                let contestant = Contestant {
                    client: client.clone(),
                    name: self.name.clone(),
                    who: format!("{}/{number}", std::process::id()),
                    until,
                    over: over.clone(),
                    pause: self.pause,
                    stay: self.stay,
                    seed: Seed::new(self.seed.wrapping_add(number)),
                    visits: Visits::default(),
                    tally: Tally::default(),
                };
                match self.kind {
                    // Every other task puts items, the rest take them.
                    Kind::Handoff { bound } => {
                        let puts = number.is_multiple_of(2);
                        tokio::spawn(handoff::run(contestant, self.witness, bound, puts))
                    }
                    Kind::Lead => tokio::spawn(lead::run(contestant, self.witness)),
                    kind => match self.file.clone() {
                        Some(file) => tokio::spawn(async move {
                            recorded::run(contestant, self.witness, kind, &file).await;
                        }),
                        None => tokio::spawn(turns::run(contestant, self.witness, kind)),
                    },
                }
            })
            .collect();
        let all = async {
            for task in tasks {
                if let Err(error) = task.await {
                    say(&format!("violation a task panicked: {error}"));
                }
            }
        };
        tokio::pin!(all);
        tokio::select! {
            () = &mut all => {}
            () = enough => {
                over.store(true, Ordering::Release);
                all.await;
            }
        }
        say("done");
    }
}

impl Contestant {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until || self.over.load(Ordering::Acquire)
    }

    /// How long the task waits for a turn before it cancels the wait: mostly without a limit, sometimes only for a
    /// moment.
    fn patience(&mut self) -> Duration {
        match self.seed.below(16) {
            0 => Duration::from_micros(self.seed.below(5000)),
            _ => Duration::MAX,
        }
    }

    /// Pauses, so that other tasks get the lock.
    async fn pause(&mut self) {
        if self.pause > 0 {
            tokio::time::sleep(Duration::from_micros(self.seed.below(self.pause))).await;
        }
    }

    /// Counts an error that a fault may cause. Any other error is a violation.
    async fn trouble(&mut self, error: LockError) {
        match error {
            LockError::Unavailable { source, .. } => {
                eprintln!("{}: {source:?}", self.who);
                self.tally.unavailable += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            LockError::Deadlock { cycle, .. } if cycle.len() > 1 => self.tally.deadlocks += 1,
            LockError::Lost { cause, .. } => self.lost(cause),
            error => self.violation(&format!("{error:?}")),
        }
    }

    fn lost(&self, cause: impl std::fmt::Debug) {
        say(&format!("lost {} {cause:?}", self.who));
    }

    fn violation(&self, what: &str) {
        say(&format!("violation {} {what}", self.who));
    }

    /// Reports that a register refused a holder whose guard is still valid; `now` is a time of the witness's clock.
    fn refused(&self, what: &str, now: &str) {
        let what = format!("the register refused {what} that still believes, at {now}");
        self.violation(&what);
    }

    fn report(&self) {
        say(&format!("task {} {}", self.who, self.tally));
    }
}
