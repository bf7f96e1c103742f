//! [`Throttle`]: how often the same fault is logged as a warning.

use std::time::Duration;

use tokio::time::Instant;

/// The least time between two warnings.
const PAUSE: Duration = Duration::from_secs(10);

/// Limits the warnings about a credentials provider that fails in each attempt to connect.
#[derive(Debug, Default)]
pub(in super::super) struct Throttle {
    last: Option<Instant>,
}

impl Throttle {
    /// Whether a warning is due. After a warning, the next one is due only after a pause.
    pub(in super::super) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.last.is_none_or(|last| last + PAUSE <= now);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}
