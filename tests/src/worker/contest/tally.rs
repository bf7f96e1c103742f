//! What a task counts of itself.

use std::fmt;
use std::time::Duration;

use auto_mutex::LockError;

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) turns: u64,
    pub(super) longest: Duration,
    pub(super) lost: u64,
    pub(super) unavailable: u64,
    pub(super) timeouts: u64,
    pub(super) cancelled: u64,
}

impl Tally {
    /// Counts an error that may come when there is trouble; gives back any other.
    pub(super) async fn trouble(&mut self, error: LockError) -> Option<LockError> {
        match error {
            LockError::Unavailable { .. } => {
                self.unavailable += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            LockError::Timeout { .. } => self.timeouts += 1,
            LockError::Lost { .. } => self.lost += 1,
            error => return Some(error),
        }
        None
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            turns,
            longest,
            lost,
            unavailable,
            timeouts,
            cancelled,
        } = self;
        let longest = longest.as_millis();
        write!(
            f,
            "turns={turns} longest_ms={longest} lost={lost} unavailable={unavailable} timeouts={timeouts} \
             cancelled={cancelled}"
        )
    }
}
