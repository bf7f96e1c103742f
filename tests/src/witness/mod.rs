//! An independent witness: a Redis of its own that sees who is inside, when, and with which token.
//!
//! A holder reports when it enters and when it leaves. Whoever was killed or suspended inside cannot
//! report, so a counter alone would see overlaps that are none. Therefore a holder also asks its guard *after*
//! each answer of the witness: if it still believes in the lock then, it did at the witness' instant too.
//! From such instants come intervals during which a holder surely believed to hold; these must not overlap,
//! however much was killed. The fenced register plays the protected resource: it takes a write only with a
//! token that is not below the last one.

mod section;
#[cfg(test)]
mod tests;
mod verdict;

pub use section::{Section, Sections};
pub use verdict::Verdict;

use crate::redis::Redis;
use crate::resp::Value;

const COUNTER: &str = "witness:inside";
const REGISTER: &str = "witness:register";
const LOG: &str = "witness:log";
const INSIDE: &str = "witness:last";

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

    /// Who entered last, unless it has left.
    pub fn inside(&self) -> Option<String> {
        match self.redis.command(&["GET", INSIDE]) {
            Value::Text(who) => Some(who),
            _ => None,
        }
    }

    /// What was seen.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.log())
    }

    fn log(&self) -> Vec<String> {
        self.redis.command(&["LRANGE", LOG, "0", "-1"]).texts()
    }
}
