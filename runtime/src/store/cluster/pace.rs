//! [`Pace`]: when to ask the nodes who serves what.

use std::time::Duration;

use tokio::time::Instant;

use crate::store::redis::jittered;

/// While all is well.
const CALM: Duration = Duration::from_secs(60);
/// While something is wrong: doubles from the first to the second.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);
/// At least, whatever happens.
const LEAST: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Pace {
    due: Instant,
    /// The nodes are being asked.
    asking: bool,
    /// What they say may be out of date when they have said it.
    late: bool,
    began: Instant,
    wait: Duration,
}

impl Pace {
    /// `well`: what they said when the store was opened will do.
    pub(super) fn new(well: bool) -> Self {
        let now = Instant::now();
        let mut pace = Self {
            due: now,
            asking: false,
            late: false,
            began: now,
            wait: FIRST,
        };
        pace.end(well);
        pace
    }

    /// When to ask next; not while that goes on.
    pub(super) fn next(&self) -> Option<Instant> {
        (!self.asking).then_some(self.due)
    }

    /// There is reason to ask.
    pub(super) fn hurry(&mut self) {
        self.late = self.asking;
        self.due = self.due.min((self.began + LEAST).max(Instant::now()));
    }

    pub(super) fn begin(&mut self) {
        self.asking = true;
        self.late = false;
        self.began = Instant::now();
    }

    pub(super) fn end(&mut self, well: bool) {
        self.asking = false;
        let wait = if well && !self.late {
            self.wait = FIRST;
            CALM
        } else {
            let wait = self.wait;
            self.wait = (wait * 2).min(LONGEST);
            wait
        };
        // Members should not ask all at once.
        self.due = Instant::now() + jittered(wait);
    }
}
