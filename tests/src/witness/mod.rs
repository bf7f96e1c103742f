//! An independent witness: a separate Redis that records which tasks hold, when, and with which tokens.
//!
//! A holder of one or several names, of all units or some, reports when it enters and leaves. A killed or suspended
//! holder cannot report that it leaves, so a plain counter would see too many holders. A holder therefore also asks its
//! guard *after* each answer of the witness. If the guard is still valid then, it was valid at the instant of the
//! answer. Two such instants give an interval in which the guard was certainly valid. At no instant may holders with
//! valid guards have more units of a name than there are, even if processes are killed. The fenced registers represent
//! the protected resources: see `register.lua`.

mod part;
mod section;
#[cfg(test)]
mod tests;
mod turns;
mod usage;
mod verdict;

pub use part::Part;
pub use section::{Section, Sections};
pub use turns::{Turn, Turns};
pub use usage::Usage;
pub use verdict::Verdict;

use std::ops::RangeInclusive;

use crate::redis::Redis;
use crate::resp::Connection;
use crate::worker::Worker;

const LOG: &str = "witness:log";
const INSIDE: &str = "witness:inside";
/// Counts the entries of holders and the moves of items, for tests that wait for progress.
pub(crate) const PROGRESS: &str = "witness:progress";

/// The key of a name's register.
fn register(name: &str) -> String {
    format!("witness:register:{name}")
}

/// The time of the witness's clock, in microseconds.
pub(crate) fn now(connection: &mut Connection) -> u64 {
    let time = connection.call(&["TIME"]).texts();
    let number = |text: &String| text.parse::<u64>().expect("a number");
    number(&time[0]) * 1_000_000 + number(&time[1])
}

/// The witness, for the test that runs the contest.
pub struct Witness {
    redis: Redis,
}

impl Witness {
    /// Starts a witness.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self {
            redis: Redis::start(),
        }
    }

    /// The port to which holders report: see [`Sections::report_to`].
    pub fn port(&self) -> u16 {
        self.redis.port()
    }

    /// The tasks that have entered and not left, including killed ones.
    pub fn inside(&self) -> Vec<String> {
        self.redis.command(&["SMEMBERS", INSIDE]).texts()
    }

    /// The number of entries and moves so far.
    pub fn progress(&self) -> u64 {
        let count = self.redis.command(&["INCRBY", PROGRESS, "0"]).int();
        u64::try_from(count).unwrap_or_default()
    }

    /// The time of the witness's clock, in microseconds.
    pub fn now(&self) -> u64 {
        now(&mut self.redis.connect())
    }

    /// The verdict on all reports.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.log())
    }

    /// The log lines within some seconds of `at`, a time of the witness's clock; for an error message.
    pub fn around(&self, at: u64) -> Vec<String> {
        const NEAR: u64 = 3_000_000;
        let mut log = self.log();
        log.retain(|line| {
            let words = line.split(' ').skip(2);
            let mut times = words.filter_map(|word| word.parse::<u64>().ok());
            times.next().is_some_and(|time| time.abs_diff(at) < NEAR)
        });
        log
    }

    /// Ends a contest of these workers: see [`worker::contest`](crate::worker::contest). Checks that no name had too
    /// many holders, and that tokens grew. Returns the verdict, and what the workers said at the end.
    #[track_caller]
    pub fn end_contest(&self, workers: &mut [Worker]) -> (Verdict, Vec<String>) {
        for worker in &mut *workers {
            worker.say("enough");
        }
        let mut said = Vec::new();
        for worker in workers {
            let lines = std::iter::from_fn(|| worker.hear());
            said.extend(lines.take_while(|line| line != "done"));
        }
        let is_bad = |line: &&String| line.starts_with("violation") || line.starts_with("failed");
        assert_eq!(said.iter().find(is_bad), None);
        let verdict = self.verdict();
        assert_eq!(verdict.overlaps, [""; 0], "too many at the same time");
        assert_eq!(verdict.token_faults, [""; 0], "a token that did not grow");
        (verdict, said)
    }

    /// The verdict without the evidence of sections that overlap any of `spans` (times of the witness's clock).
    pub fn verdict_outside(&self, spans: &[RangeInclusive<u64>]) -> Verdict {
        let mut log = self.log();
        log.retain(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let ["held", _, entered, left, ..] = words[..] else {
                return true;
            };
            let number = |text: &str| text.parse::<u64>().expect("a number");
            let (entered, left) = (number(entered), number(left));
            !spans
                .iter()
                .any(|span| entered <= *span.end() && left >= *span.start())
        });
        Verdict::of(&log)
    }

    fn log(&self) -> Vec<String> {
        self.redis.command(&["LRANGE", LOG, "0", "-1"]).texts()
    }
}
