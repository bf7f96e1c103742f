//! [`Pace`]: how long an attempt to open the store may take, and the pauses between attempts.

use std::time::Duration;

use crate::error::SetupError;

/// The delay before the second attempt; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest delay if the servers cannot be reached.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The longest delay if an attempt has used up its time: the servers may be busy with thousands of clients.
const LONGEST_PAUSE_IF_BUSY: Duration = Duration::from_secs(4);
/// The most time that an attempt may get, as a multiple of the connect timeout.
const LONGEST_ATTEMPT: u32 = 4;
/// The longest delay after a failure that a person must correct, such as a wrong password. Some servers lock users out
/// after many failures.
const LONGEST_PAUSE_IF_REFUSED: Duration = Duration::from_secs(10);

/// The time limit of the attempts, and the pauses between them.
pub(super) struct Pace {
    pause: Duration,
    limit: Duration,
    longest_limit: Duration,
}

impl Pace {
    pub(super) fn new(connect_timeout: Duration) -> Self {
        Self {
            pause: FIRST_PAUSE,
            limit: connect_timeout,
            longest_limit: connect_timeout.saturating_mul(LONGEST_ATTEMPT),
        }
    }

    /// How long the next attempt may take.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the pause after an attempt that failed and took this time. If the attempt used up its time, the next one
    /// gets twice as much, because slow servers must do all the work again.
    pub(super) fn pause(&mut self, error: &SetupError, took: Duration) -> Duration {
        let is_slow = took >= self.limit;
        let longest = match (error.is_transient(), is_slow) {
            (false, _) => LONGEST_PAUSE_IF_REFUSED,
            (true, true) => LONGEST_PAUSE_IF_BUSY,
            (true, false) => LONGEST_PAUSE,
        };
        if is_slow {
            self.limit = self.limit.saturating_mul(2).min(self.longest_limit);
            self.pause = longest;
        }
        let pause = self.pause.min(longest);
        self.pause = pause * 2;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreError;

    const LIMIT: Duration = Duration::from_secs(5);
    const QUICK: Duration = Duration::from_millis(5);

    fn unreachable() -> SetupError {
        SetupError::Unreachable {
            address: "h:1".to_owned(),
            source: StoreError::disconnected(""),
        }
    }

    fn refused() -> SetupError {
        SetupError::Authentication {
            address: "h:1".to_owned(),
            source: StoreError::disconnected(""),
        }
    }

    fn pauses(error: &SetupError) -> Vec<u128> {
        let mut pace = Pace::new(LIMIT);
        let pauses = (0..10).map(|_| pace.pause(error, QUICK).as_millis());
        let pauses = pauses.collect();
        assert_eq!(pace.limit(), LIMIT);
        pauses
    }

    #[test]
    fn pauses_grow() {
        assert_eq!(
            pauses(&unreachable()),
            [50, 100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000]
        );
        assert_eq!(
            pauses(&refused()),
            [50, 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000]
        );
    }

    #[test]
    fn who_ran_out_of_time_gets_more_time_and_comes_later() {
        let mut pace = Pace::new(LIMIT);
        for seconds in [5, 10, 20, 20] {
            assert_eq!(pace.limit(), Duration::from_secs(seconds));
            let pause = pace.pause(&unreachable(), pace.limit());
            assert_eq!(pause, LONGEST_PAUSE_IF_BUSY);
        }
        // The servers answer again, if only with an error.
        assert_eq!(pace.pause(&unreachable(), QUICK), LONGEST_PAUSE);
    }
}
