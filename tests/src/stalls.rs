//! [`Stalls`]: how long the machine stalled this process. Shared machines do so at times, and a stalled process renews
//! no lease. A test must neither take the effects for bugs nor hide bugs behind them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PACE: Duration = Duration::from_millis(20);
/// Shorter stalls are ignored.
const NOTED: Duration = Duration::from_millis(250);
/// A member must claim a grant by message within this time (see "Claims" in docs/protocol.md). Otherwise the store
/// grants the lock to the next waiter.
const CLAIM: Duration = Duration::from_secs(2);
/// The number of runs after which a test fails, even if the machine stalled in each of them.
const ATTEMPTS: usize = 6;

/// The rounds of the thread that notes stalls.
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// When each stall of this process ended, and how long the stall was. The first access starts the thread that notes them.
static NOTES: LazyLock<Mutex<Vec<(Instant, Duration)>>> = LazyLock::new(|| {
    thread::spawn(|| {
        let mut last = Instant::now();
        loop {
            thread::sleep(PACE);
            let stall = last.elapsed().saturating_sub(PACE);
            last = Instant::now();
            if stall >= NOTED {
                notes().push((last, stall));
            }
            ROUNDS.fetch_add(1, Ordering::Release);
        }
    });
    Mutex::default()
});

fn notes() -> MutexGuard<'static, Vec<(Instant, Duration)>> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stalls of this process since [`watch`](Self::watch).
#[derive(Debug)]
pub struct Stalls {
    since: Instant,
}

impl Stalls {
    /// Watches for stalls from now on.
    pub fn watch() -> Self {
        LazyLock::force(&NOTES);
        Self {
            since: Instant::now(),
        }
    }

    /// The longest stall that ended within this time.
    pub fn within(&self, time: Duration) -> Duration {
        let recent = self.noted().filter(|it| it.0.elapsed() <= time);
        recent.map(|it| it.1).max().unwrap_or_default()
    }

    /// Whether stalls took at least half of the time in which a member must claim a grant. The claim may then have come
    /// too late, and the store has rightly granted the lock to the next waiter.
    pub fn may_have_cost_a_claim(&self) -> bool {
        let noted: Vec<_> = self.noted().collect();
        let around = |end: Instant| {
            let near = noted
                .iter()
                .filter(move |it| it.0 <= end && end.saturating_duration_since(it.0) < CLAIM);
            near.map(|it| it.1).sum::<Duration>()
        };
        noted.iter().any(|it| around(it.0) >= CLAIM / 2)
    }

    fn noted(&self) -> impl Iterator<Item = (Instant, Duration)> {
        let noted = notes().clone();
        noted.into_iter().filter(|it| it.0 >= self.since)
    }
}

/// Runs `test`, and repeats it if it fails after a stall. A short one is enough for a lock with a short `expire` to be lost.
pub fn despite_stalls(test: impl Fn()) {
    for attempt in 1.. {
        let stalls = Stalls::watch();
        let Err(panic) = catch_unwind(AssertUnwindSafe(&test)) else {
            return;
        };
        // After a stall, a test may fail before the stall is noted. The first of two rounds may have begun before it.
        let round = ROUNDS.load(Ordering::Acquire);
        while ROUNDS.load(Ordering::Acquire) < round + 2 {
            thread::sleep(PACE);
        }
        if attempt == ATTEMPTS || stalls.within(Duration::MAX).is_zero() {
            resume_unwind(panic);
        }
        eprintln!("attempt {attempt} failed while the machine stalled: again");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_test_runs_again_only_after_a_stall() {
        let runs = AtomicUsize::new(0);
        let fails = || {
            despite_stalls(|| {
                runs.fetch_add(1, Ordering::Relaxed);
                panic!("fails always");
            });
        };
        let began = Stalls::watch();
        assert!(catch_unwind(fails).is_err());
        let count = runs.swap(0, Ordering::Relaxed);
        assert!(count == 1 || !began.within(Duration::MAX).is_zero());
        despite_stalls(|| {
            if runs.fetch_add(1, Ordering::Relaxed) == 0 {
                // As if the machine had just stalled.
                notes().push((Instant::now(), NOTED));
                panic!("fails once");
            }
        });
        assert_eq!(runs.load(Ordering::Relaxed), 2);
    }
}
