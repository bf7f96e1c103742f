//! [`Stalls`]: for how long the machine let this process stand still. A machine that is shared does so now and then, and no
//! process renews anything meanwhile; what that does is not to be taken for a fault, nor hidden.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PACE: Duration = Duration::from_millis(20);
/// Shorter ones are noise.
const NOTED: Duration = Duration::from_millis(250);
/// Within this time a grant must be claimed by whom it is told (see "Claims" in docs/protocol.md), or it goes to the next one.
const CLAIM: Duration = Duration::from_secs(2);

type Noted = Mutex<Vec<(Instant, Duration)>>;

/// When this process went on again, and how long it had stood still.
#[derive(Debug)]
pub struct Stalls(Arc<Noted>);

impl Stalls {
    /// Watches until it is dropped.
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

    /// The longest one that ended within this time.
    pub fn within(&self, time: Duration) -> Duration {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = noted.iter().rev().take_while(|it| it.0.elapsed() <= time);
        recent.map(|it| it.1).max().unwrap_or_default()
    }

    /// Whether it stood still for half of the time or more in which a grant must be claimed: then one may have gone to the
    /// next one, rightly, and a lock that was just granted be lost.
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
