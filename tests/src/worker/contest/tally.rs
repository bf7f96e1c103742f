//! The counts of one task.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) turns: u64,
    pub(super) longest: Duration,
    pub(super) unavailable: u64,
    pub(super) cancelled: u64,
    pub(super) deadlocks: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            turns,
            longest,
            unavailable,
            cancelled,
            deadlocks,
        } = self;
        let longest = longest.as_millis();
        write!(
            f,
            "turns={turns} longest_ms={longest} unavailable={unavailable} \
             cancelled={cancelled} deadlocks={deadlocks}"
        )
    }
}
