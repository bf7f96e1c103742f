//! An independent witness: a Redis of its own that sees who is inside, when, and with which tokens.
//!
//! A holder of one or several names, of all units of each or of some, reports when it enters and when it leaves.
//! Whoever was killed or suspended inside cannot report, so a counter alone would see too many where there are
//! not. Therefore a holder also asks its guard *after* each answer of the witness: if it still believes in the lock
//! then, it did at the witness' instant too. From such instants come intervals during which a holder surely believed to
//! hold; at no instant may they have more units of a name than there are, however much was killed. The fenced registers
//! play the protected resources: see `register.lua`.

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
use crate::resp::Value;

const LOG: &str = "witness:log";
const INSIDE: &str = "witness:inside";
/// Counts whatever gets on, for those who look whether anything does.
pub(crate) const PROGRESS: &str = "witness:progress";

/// The register of a name.
fn register(name: &str) -> String {
    format!("witness:register:{name}")
}

/// Its clock, in microseconds.
pub(crate) fn now(connection: &mut Connection) -> u64 {
    let time = connection.call(&["TIME"]).texts();
    let number = |text: &String| text.parse::<u64>().expect("a number");
    number(&time[0]) * 1_000_000 + number(&time[1])
}

/// The witness, as the test that runs the contest sees it.
pub struct Witness {
    redis: Redis,
}

impl Witness {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self {
            redis: Redis::start(),
        }
    }

    /// Where holders report: see [`Sections::report_to`].
    pub fn port(&self) -> u16 {
        self.redis.port()
    }

    /// Who has entered and not left; the dead too, who cannot.
    pub fn inside(&self) -> Vec<String> {
        self.redis.command(&["SMEMBERS", INSIDE]).texts()
    }

    /// How often somebody has got on so far.
    pub fn progress(&self) -> u64 {
        let count = self.redis.command(&["INCRBY", PROGRESS, "0"]).int();
        u64::try_from(count).unwrap_or_default()
    }

    /// Its clock, in microseconds.
    pub fn now(&self) -> u64 {
        now(&mut self.redis.connect())
    }

    /// What was seen.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.log())
    }

    /// What was seen since this was asked last; forgotten then, so that a long contest does not fill the memory.
    pub fn verdict_so_far(&self) -> Verdict {
        let taken = self.redis.command(&["LPOP", LOG, "1000000000"]);
        match taken {
            Value::Nil => Verdict::of(&[]),
            log => Verdict::of(&log.texts()),
        }
    }

    /// What it wrote within some seconds of `at`, by its clock: for a message.
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

    /// What was seen, without what holders believed at moments of these spans of time (by its clock).
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
