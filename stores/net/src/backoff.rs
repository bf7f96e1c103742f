//! [`Backoff`]: pauses between failing attempts, and how long each attempt waits for an answer.

use std::time::Duration;

use auto_mutex_seam::store::{Trouble, jittered};

/// The longest pause if the server cannot be reached.
const LONGEST: Duration = Duration::from_secs(1);
/// The longest pause if the server is overloaded. Each attempt costs it time, and thousands of clients may retry.
const LONGEST_IF_BUSY: Duration = Duration::from_secs(4);
/// The longest pause if a person has to fix something. Some servers lock users out after many failures.
const LONGEST_IF_REFUSED: Duration = Duration::from_secs(10);
/// The longest wait for a silent server, as a multiple of the usual time.
const MOST_SILENCE: u32 = 4;

/// Pauses double up to a limit that depends on the last failure. Jitter shortens each pause by up to half, so that the
/// clients of a restarted server do not all connect together.
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    next: Duration,
    longest: Duration,
    usual_silence: Duration,
    silence: Duration,
}

impl Backoff {
    /// `first` is the shortest pause, `usual_silence` how long the first attempt waits for an answer.
    pub fn new(first: Duration, usual_silence: Duration) -> Self {
        Self {
            first,
            next: first,
            longest: LONGEST,
            usual_silence,
            silence: usual_silence,
        }
    }

    /// The pause before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let whole = self.next.min(self.longest);
        self.next = whole * 2;
        jittered(whole)
    }

    /// How long the next attempt waits for an answer.
    pub fn silence(&self) -> Duration {
        self.silence
    }

    /// Notes that an attempt has failed.
    pub fn failed(&mut self, trouble: Trouble) {
        self.longest = match trouble {
            Trouble::Unreachable => LONGEST,
            Trouble::Busy | Trouble::Silent => LONGEST_IF_BUSY,
            Trouble::Refused => LONGEST_IF_REFUSED,
        };
        self.silence = match trouble {
            Trouble::Silent => (self.silence * 2).min(self.usual_silence * MOST_SILENCE),
            _ => self.usual_silence,
        };
    }

    /// Starts over with the shortest pause, after a success.
    pub fn reset(&mut self) {
        *self = Self::new(self.first, self.usual_silence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(10);
    const USUAL: Duration = Duration::from_secs(2);

    #[test]
    fn pauses_grow_as_far_as_the_trouble_allows() {
        for (trouble, longest) in [
            (Trouble::Unreachable, 1),
            (Trouble::Busy, 4),
            (Trouble::Silent, 4),
            (Trouble::Refused, 10),
        ] {
            let mut backoff = Backoff::new(FIRST, USUAL);
            let mut whole = FIRST;
            for _ in 0..20 {
                backoff.failed(trouble);
                let pause = backoff.pause();
                assert!(pause >= whole / 2 && pause <= whole, "{pause:?} {whole:?}");
                whole = (whole * 2).min(Duration::from_secs(longest));
            }
            backoff.failed(Trouble::Unreachable);
            assert!(backoff.pause() <= LONGEST);
            backoff.reset();
            assert!(backoff.pause() <= FIRST);
        }
    }

    #[test]
    fn a_silent_server_is_given_more_time() {
        let mut backoff = Backoff::new(FIRST, USUAL);
        for seconds in [2, 4, 8, 8] {
            assert_eq!(backoff.silence(), Duration::from_secs(seconds));
            backoff.failed(Trouble::Silent);
        }
        backoff.failed(Trouble::Unreachable);
        assert_eq!(backoff.silence(), USUAL);
    }
}
