//! [`Backoff`]: the delay before the next attempt to connect, and how long that attempt waits for an answer.

use std::time::Duration;

use uuid::Uuid;

use super::error::ConnectError;
use crate::wire::USUAL_SILENCE;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);
/// The longest delay if the server is silent or temporarily unusable, or if the credentials provider fails. Each attempt
/// costs the server or the provider time, and thousands of clients may retry.
const LONGEST_IF_BUSY: Duration = Duration::from_secs(4);
const LONGEST_SILENCE: Duration = Duration::from_secs(8);

/// The delay doubles from 10 ms to 1 s, or to 4 s after the errors of [`LONGEST_IF_BUSY`]. Jitter shortens it by up to
/// half, so that the clients of a restarted server do not all connect at once.
#[derive(Debug)]
pub(in super::super) struct Backoff {
    next: Duration,
    longest: Duration,
    silence: Duration,
}

impl Backoff {
    pub(in super::super) fn new() -> Self {
        Self {
            next: FIRST,
            longest: LONGEST,
            silence: USUAL_SILENCE,
        }
    }

    pub(in super::super) fn next(&mut self) -> Duration {
        let whole = self.next.min(self.longest);
        self.next = (whole * 2).min(self.longest);
        jittered(whole)
    }

    /// How long the server may be silent in the next attempt.
    pub(in super::super) fn silence(&self) -> Duration {
        self.silence
    }

    /// Notes that an attempt has failed. If the server was silent, it may be silent for twice as long in the next attempt,
    /// because a slow server must then repeat all of its work.
    pub(in super::super) fn failed(&mut self, error: &ConnectError) {
        self.longest = match error {
            ConnectError::Silent(_) | ConnectError::Passing(_) | ConnectError::Credentials(_) => {
                LONGEST_IF_BUSY
            }
            _ => LONGEST,
        };
        self.silence = match error {
            ConnectError::Silent(_) => (self.silence * 2).min(LONGEST_SILENCE),
            _ => USUAL_SILENCE,
        };
    }
}

/// A random duration between half of `whole` and `whole`.
pub(in crate::store) fn jittered(whole: Duration) -> Duration {
    let half = whole / 2;
    let random = Uuid::new_v4().as_u128() as u32;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreError;

    fn waits_grow_to(longest: Duration, error: &ConnectError) {
        let mut backoff = Backoff::new();
        let mut whole = FIRST;
        for _ in 0..20 {
            backoff.failed(error);
            let wait = backoff.next();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} {whole:?}");
            whole = (whole * 2).min(longest);
        }
    }

    #[test]
    fn waits_grow_further_for_a_server_that_has_no_time() {
        let error = || StoreError::disconnected("");
        waits_grow_to(LONGEST, &ConnectError::Unreachable(error()));
        waits_grow_to(LONGEST_IF_BUSY, &ConnectError::Silent(error()));
        waits_grow_to(LONGEST_IF_BUSY, &ConnectError::Passing(error()));
        waits_grow_to(LONGEST_IF_BUSY, &ConnectError::Credentials(error()));
    }

    #[test]
    fn who_was_given_up_for_silence_is_given_more_time() {
        let silent = ConnectError::Silent(StoreError::disconnected(""));
        let mut backoff = Backoff::new();
        for seconds in [2, 4, 8, 8] {
            assert_eq!(backoff.silence(), Duration::from_secs(seconds));
            backoff.failed(&silent);
        }
        backoff.failed(&ConnectError::Unreachable(StoreError::disconnected("")));
        assert_eq!(backoff.silence(), USUAL_SILENCE);
    }
}
