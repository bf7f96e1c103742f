//! [`Stalls`]: how long the machine stalled this process. A shared machine does so now and then, and a stalled process
//! renews no lease. A test must neither count the effects as faults nor hide them.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PACE: Duration = Duration::from_millis(20);
/// Shorter stalls are noise.
const NOTED: Duration = Duration::from_millis(250);
/// A member must claim a grant by message within this time (see "Claims" in docs/protocol.md). Otherwise the store grants
/// the lock to the next waiter.
const CLAIM: Duration = Duration::from_secs(2);

type Noted = Mutex<Vec<(Instant, Duration)>>;

/// When each stall of this process ended, and how long the stall was.
#[derive(Debug)]
pub struct Stalls(Arc<Noted>);

impl Stalls {
    /// Watches for stalls until the value is dropped.
    pub fn watch() -> Self {
        let noted = Arc::new(Noted::default());
        let watched = Arc::downgrade(&noted);
        thread::spawn(move || {
            let mut last = Instant::now();
            while let Some(noted) = watched.upgrade() {
                thread::sleep(PACE);
                let stall = last.elapsed().saturating_sub(PACE);
                last = Instant::now();
                if stall >= NOTED {
                    noted
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((last, stall));
                }
            }
        });
        Self(noted)
    }

    /// The longest stall that ended within this time.
    pub fn within(&self, time: Duration) -> Duration {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = noted.iter().rev().take_while(|it| it.0.elapsed() <= time);
        recent.map(|it| it.1).max().unwrap_or_default()
    }

    /// Whether stalls took half or more of the time in which a grant must be claimed. Then the store may rightly have
    /// granted the lock to the next waiter, and a lock that was just granted may be lost.
    pub fn may_have_cost_a_claim(&self) -> bool {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let around = |end: Instant| {
            let near = noted
                .iter()
                .filter(move |it| it.0 <= end && end.saturating_duration_since(it.0) < CLAIM);
            near.map(|it| it.1).sum::<Duration>()
        };
        noted.iter().any(|it| around(it.0) >= CLAIM / 2)
    }
}
