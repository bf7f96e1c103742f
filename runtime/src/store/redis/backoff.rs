//! How long to wait before the next attempt to connect, and how long that may wait for a word.

use std::time::Duration;

use uuid::Uuid;

use super::refusal::Refusal;
use super::wire::SILENCE;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);
/// Of a server that is there and has no time: each attempt costs it some, and there may be thousands.
const LONGEST_IF_BUSY: Duration = Duration::from_secs(4);
const LONGEST_SILENCE: Duration = Duration::from_secs(8);

/// Doubles from 10 ms to 1 s, or to 4 s for a server that is there and has no time; each wait is between half of that and
/// the whole, so that the members of a server that comes back do not all knock at once.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
    longest: Duration,
    silence: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self {
            next: FIRST,
            longest: LONGEST,
            silence: SILENCE,
        }
    }

    pub(super) fn next(&mut self) -> Duration {
        let whole = self.next.min(self.longest);
        self.next = (whole * 2).min(self.longest);
        jittered(whole)
    }

    /// For how long a server may be silent in the next attempt.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    /// An attempt has failed. One that was given up for silence was for nothing if the server is only slow: what it has
    /// done for it is done anew for the next one, which therefore is given twice the time.
    pub(super) fn failed(&mut self, refusal: &Refusal) {
        self.longest = match refusal {
            Refusal::Silent(_) | Refusal::Passing(_) => LONGEST_IF_BUSY,
            _ => LONGEST,
        };
        self.silence = match refusal {
            Refusal::Silent(_) => (self.silence * 2).min(LONGEST_SILENCE),
            _ => SILENCE,
        };
    }
}

/// Between half of it and the whole.
pub(in crate::store) fn jittered(whole: Duration) -> Duration {
    let half = whole / 2;
    let random = Uuid::new_v4().as_u128() as u32;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreError;

    fn waits_grow_to(longest: Duration, refusal: &Refusal) {
        let mut backoff = Backoff::new();
        let mut whole = FIRST;
        for _ in 0..20 {
            backoff.failed(refusal);
            let wait = backoff.next();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} {whole:?}");
            whole = (whole * 2).min(longest);
        }
    }

    #[test]
    fn waits_grow_further_for_a_server_that_has_no_time() {
        let error = || StoreError::disconnected("");
        waits_grow_to(LONGEST, &Refusal::Unreachable(error()));
        waits_grow_to(LONGEST_IF_BUSY, &Refusal::Silent(error()));
        waits_grow_to(LONGEST_IF_BUSY, &Refusal::Passing(error()));
    }

    #[test]
    fn who_was_given_up_for_silence_is_given_more_time() {
        let silent = Refusal::Silent(StoreError::disconnected(""));
        let mut backoff = Backoff::new();
        for seconds in [2, 4, 8, 8] {
            assert_eq!(backoff.silence(), Duration::from_secs(seconds));
            backoff.failed(&silent);
        }
        backoff.failed(&Refusal::Unreachable(StoreError::disconnected("")));
        assert_eq!(backoff.silence(), SILENCE);
    }
}
