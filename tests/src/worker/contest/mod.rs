//! A contest: many tasks of many processes on one lock, or several, under the eyes of a witness.
//!
//! Lines out: `begun`; `violation …` for what must never be; `lost WHO` for a loss that was noticed, with `after a stall` behind
//! it if this process had stood still for so long that this may be why; at the end `task WHO
//! turns=… longest_ms=… unavailable=… timeouts=… cancelled=… deadlocks=…` for each task, then `done`.

mod crossed;
mod hand_over;
mod kind;
mod place;
mod recorded;
mod tally;
mod turns;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError};

pub(super) use kind::Kind;
use place::Place;
use tally::Tally;

use super::serve::say;
use crate::seed::Seed;
use crate::stalls::Stalls;

/// What the line of a loss ends with that may be the machine's.
const AFTER_A_STALL: &str = " after a stall";
/// How long a task waits before it calls itself starved.
const STARVED: Duration = Duration::from_secs(30);

pub(super) struct Contest {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) duration: Duration,
    pub(super) tasks: u64,
    pub(super) witness: u16,
    pub(super) seed: u64,
    /// The longest pause after a turn, in microseconds.
    pub(super) pause: u64,
    /// The longest stay, in milliseconds, of those who stay for longer than a moment: one in thirty-two.
    pub(super) stay: u64,
    /// Where all that happens is written down, if it is; see [`history`](crate::history).
    pub(super) file: Option<PathBuf>,
}

/// Whether a line tells of a loss that the machine has no part in.
pub fn is_strange_loss(line: &str) -> bool {
    line.starts_with("lost ") && !line.ends_with(AFTER_A_STALL)
}

/// What each task of a contest has.
struct Contestant {
    client: Client,
    name: String,
    who: String,
    until: Instant,
    over: Arc<AtomicBool>,
    stalls: Arc<Stalls>,
    seed: Seed,
    pause: u64,
    stay: u64,
    tally: Tally,
}

impl Contest {
    /// Ends when its time is over, or `enough` is.
    pub(super) async fn run(self, client: &Client, enough: impl Future<Output = ()>) {
        say("begun");
        let over = Arc::new(AtomicBool::new(false));
        let until = Instant::now() + self.duration;
        let stalls = Arc::new(Stalls::watch());
        let tasks: Vec<_> = (0..self.tasks)
            .map(|number| {
                let contestant = Contestant {
                    client: client.clone(),
                    name: self.name.clone(),
                    who: format!("{}/{number}", std::process::id()),
                    until,
                    over: over.clone(),
                    stalls: stalls.clone(),
                    pause: self.pause,
                    stay: self.stay,
                    seed: Seed::new(self.seed.wrapping_add(number)),
                    tally: Tally::default(),
                };
                match self.kind {
                    Kind::HandOver { .. } | Kind::Partners { .. } => {
                        let place = Place::find(self.kind, &self.name, number, self.witness);
                        tokio::spawn(hand_over::run(contestant, self.witness, place))
                    }
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

    /// How long to wait for a turn: now and then somebody gives up, at any moment.
    fn patience(&mut self) -> Duration {
        match self.seed.below(16) {
            0 => Duration::from_micros(self.seed.below(5000)),
            _ => Duration::MAX,
        }
    }

    /// Lets others get on.
    async fn pause(&mut self) {
        if self.pause > 0 {
            tokio::time::sleep(Duration::from_micros(self.seed.below(self.pause))).await;
        }
    }

    /// Counts an error that may come when there is trouble.
    async fn trouble(&mut self, error: LockError) {
        match error {
            LockError::Unavailable { source, .. } => {
                eprintln!("{}: {source:?}", self.who);
                self.tally.unavailable += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            LockError::Timeout { .. } => self.tally.timeouts += 1,
            LockError::Deadlock { cycle, .. } if cycle.len() > 1 => self.tally.deadlocks += 1,
            LockError::Lost { .. } => self.lost(),
            error => self.violation(&format!("{error:?}")),
        }
    }

    fn lost(&self) {
        let stalled = match self.stalls.may_have_cost_a_claim() {
            true => AFTER_A_STALL,
            false => "",
        };
        say(&format!("lost {}{stalled}", self.who));
    }

    fn violation(&self, what: &str) {
        say(&format!("violation {} {what}", self.who));
    }

    /// `now` is the witness' clock.
    fn refused(&self, what: &str, now: &str) {
        let what = format!("the register refused {what} that still believes, at {now}");
        self.violation(&what);
    }

    fn report(&self) {
        say(&format!("task {} {}", self.who, self.tally));
    }
}
