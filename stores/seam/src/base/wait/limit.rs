use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::base::clock::Instant;

/// Lets one of many equal warnings through per pause, and counts the others. It has no mutex, so that a static one
/// works in a forked child.
#[derive(Debug)]
pub struct Limit {
    pause: Duration,
    next: AtomicU64,
    untold: AtomicU64,
}

impl Limit {
    pub const fn every(pause: Duration) -> Self {
        Self {
            pause,
            next: AtomicU64::new(0),
            untold: AtomicU64::new(0),
        }
    }

    pub const fn once() -> Self {
        Self::every(Duration::MAX)
    }

    /// If a warning may be logged at `now`, how many were suppressed since the last one.
    pub fn pass(&self, now: Instant) -> Option<u64> {
        let after = now.after(self.pause).as_nanos();
        let change = |next| (next <= now.as_nanos()).then_some(after);
        let passed = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        if passed.is_err() {
            self.untold.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(self.untold.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(1);

    #[test]
    fn one_in_each_pause_is_told_and_none_is_forgotten() {
        let limit = Limit::every(PAUSE);
        let mut now = Instant::START.after(Duration::from_secs(5));
        assert_eq!(limit.pass(now), Some(0));
        for _ in 0..999 {
            assert_eq!(limit.pass(now), None);
        }
        now = now.after(PAUSE);
        assert_eq!(limit.pass(now), Some(999));
        assert_eq!(limit.pass(now), None);
        assert_eq!(limit.pass(now.after(PAUSE)), Some(1));
    }

    #[test]
    fn one_and_no_more_is_told() {
        let limit = Limit::once();
        assert_eq!(limit.pass(Instant::START), Some(0));
        assert_eq!(
            limit.pass(Instant::START.after(Duration::from_secs(1 << 30))),
            None
        );
    }

    #[test]
    fn of_several_threads_one_tells() {
        let limit = Limit::every(PAUSE);
        let told = std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(|| limit.pass(Instant::START)));
            threads
                .map(|thread| thread.join().unwrap())
                .into_iter()
                .flatten()
                .count()
        });
        assert_eq!(told, 1);
    }
}
