//! [`Closed`]: a connected store grants nothing for some time.

use alloc::format;
use core::time::Duration;

use crate::{Instant, StoreError, StoreErrorKind};

/// Until when a store grants nothing, and why; see "Restart and failover" in `docs/protocol.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Closed {
    /// When the store grants again.
    pub until: Instant,
    /// Why it is closed.
    pub cause: Cause,
}

/// Why a store is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The server was restarted.
    Restart,
    /// Another server took over.
    Failover,
}

impl Closed {
    /// How long the store still grants nothing; `None` if that time is over.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let left = now.until(self.until);
        (!left.is_zero()).then_some(left)
    }

    /// The error of a call that got no lock because the store is closed.
    pub fn error(&self, now: Instant) -> StoreError {
        let happened = match self.cause {
            Cause::Restart => "was restarted",
            Cause::Failover => "was failed over",
        };
        // Rounded up, so that a retry after this time is late enough.
        let left = now.until(self.until) + Duration::from_millis(999);
        let left = left.as_secs().max(1);
        let message = format!(
            "the lock store {happened}; it grants nothing for another {left} s, until every lease that it may have granted before has ended"
        );
        StoreError::new(StoreErrorKind::NotGrantingYet, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_what_happened_and_for_how_long() {
        let now = Instant::START;
        let closed = |cause, millis| Closed {
            until: now.after(Duration::from_millis(millis)),
            cause,
        };
        let text = closed(Cause::Failover, 22_001).error(now).to_string();
        assert!(
            text.contains("was failed over; it grants nothing for another 23 s, until every lease")
        );
        let text = closed(Cause::Restart, 1000).error(now).to_string();
        assert!(text.contains("was restarted; it grants nothing for another 1 s"));
    }
}
