//! The names of a contest for kept locks, and who takes them how often.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Contestant;

/// How long the same names are used, in milliseconds: longer than a lease of the contest.
const PERIOD: u64 = 2000;

/// What a task does with its present name.
#[derive(Debug, Default)]
pub(super) struct Visits {
    period: u64,
    stays: bool,
    /// What all names begin with.
    base: Option<String>,
}

/// The milliseconds since 1970, on which all processes of the machine agree.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

impl Contestant {
    /// Goes to one of the present names. One task in four stays there, and takes the lock again and again. Any other
    /// task visits the name once, at some time in the period.
    pub(super) async fn go_to_a_name(&mut self, names: u64) {
        loop {
            let period = now() / PERIOD;
            if period != self.visits.period {
                let base = self.visits.base.get_or_insert_with(|| self.name.clone());
                self.name = format!("{base}{period}-{}", self.seed.below(names));
                self.visits.period = period;
                self.visits.stays = self.seed.below(4) == 0;
                if !self.visits.stays {
                    let pause = Duration::from_millis(self.seed.below(PERIOD));
                    tokio::time::sleep(pause).await;
                }
                return;
            }
            if self.visits.stays {
                return;
            }
            let pause = Duration::from_millis(PERIOD - now() % PERIOD);
            tokio::time::sleep(pause).await;
        }
    }
}
