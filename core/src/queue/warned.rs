//! [`Warned`]: when the next warning about a long wait or hold is due.

use std::time::Duration;

use crate::sync::atomic::{AtomicU32, Ordering};

/// How often `Config::slow` was doubled for the next warning about one wait or hold.
#[derive(Debug, Default)]
pub(super) struct Warned(AtomicU32);

impl Warned {
    /// How long a wait or a hold must last for the next warning.
    pub(super) fn next(&self, slow: Duration) -> Duration {
        let doublings = self.0.load(Ordering::Relaxed);
        slow.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
    }

    /// Whether to warn of a wait or hold that has lasted for `long`. If so, sets the next warning to the first doubling
    /// that is longer than `long`.
    pub(super) fn is_due(&self, long: Duration, slow: Duration) -> bool {
        let due = long >= self.next(slow);
        while long >= self.next(slow) && self.0.load(Ordering::Relaxed) < u32::BITS {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        due
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_warning_is_at_the_next_doubling_that_is_not_over() {
        let (warned, slow) = (Warned::default(), Duration::from_secs(30));
        let is_due = |seconds| warned.is_due(Duration::from_secs(seconds), slow);
        assert!(!is_due(29));
        assert!(is_due(30));
        assert!(!is_due(59));
        assert!(is_due(70));
        assert!(is_due(500));
        assert!(!is_due(959));
        assert!(is_due(960));
        assert!(is_due(u64::MAX), "it ends");
    }
}
