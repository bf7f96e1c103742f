//! [`Pace`]: how often the nodes of a cluster with a problem are asked for the topology, and how long a node may take to
//! answer.

use std::time::Duration;

use super::topology::slow;

/// The first pause between two surveys; it doubles from there.
const FIRST: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(1);
/// The longest pause if the nodes answer slowly: thousands of clients may ask at once.
const LONGEST_IF_SLOW: Duration = Duration::from_secs(8);
/// How long a node may be silent. If all nodes were silent for this time, the next survey allows twice the time.
const SILENCE: Duration = Duration::from_secs(1);
const LONGEST_SILENCE: Duration = Duration::from_secs(4);

/// The pauses between surveys. They double from 50 ms to 1 s, or to 8 s while the nodes answer slowly.
#[derive(Debug)]
pub(super) struct Pace {
    next: Duration,
    longest: Duration,
    silence: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            next: FIRST,
            longest: LONGEST,
            silence: SILENCE,
        }
    }

    /// How long a node may be silent in the next survey.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    /// Notes how long a survey took. `answered`: at least one node has answered.
    pub(super) fn surveyed(&mut self, took: Duration, answered: bool) {
        self.longest = if took < slow(SILENCE) {
            LONGEST
        } else {
            LONGEST_IF_SLOW
        };
        self.silence = if answered || took < self.silence {
            SILENCE
        } else {
            (self.silence * 2).min(LONGEST_SILENCE)
        };
    }

    /// The pause before the next survey.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.next.min(self.longest);
        self.next = (pause * 2).min(self.longest);
        pause
    }

    /// Begins with the shortest pause again, because the cluster works without problems.
    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(5);

    fn pauses(took: Duration) -> Vec<u128> {
        let mut pace = Pace::new();
        let pauses = (0..9).map(|_| {
            pace.surveyed(took, true);
            pace.next().as_millis()
        });
        pauses.collect()
    }

    #[test]
    fn slow_nodes_are_asked_less_often() {
        assert_eq!(
            pauses(QUICK),
            [50, 100, 200, 400, 800, 1000, 1000, 1000, 1000]
        );
        assert_eq!(
            pauses(Duration::from_millis(300)),
            [50, 100, 200, 400, 800, 1600, 3200, 6400, 8000]
        );
    }

    #[test]
    fn silent_nodes_are_given_more_time() {
        let mut pace = Pace::new();
        for seconds in [1, 2, 4, 4] {
            assert_eq!(pace.silence(), Duration::from_secs(seconds));
            pace.surveyed(pace.silence(), false);
        }
        // The nodes refuse connections at once, so more time for an answer would not help.
        pace.surveyed(QUICK, false);
        assert_eq!(pace.silence(), SILENCE);
    }
}
