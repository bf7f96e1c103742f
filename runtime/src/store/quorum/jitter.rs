//! Waits that differ from member to member.

use std::time::Duration;

use uuid::Uuid;

/// The first wait after a collision is no longer than this, or twice the time that a round takes.
const FIRST: Duration = Duration::from_millis(4);
/// How often it doubles at most.
const DOUBLINGS: u32 = 8;
/// No wait is longer.
const LONGEST: Duration = Duration::from_secs(1);

/// A small generator (xorshift64*).
#[derive(Debug)]
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) fn new() -> Self {
        Self::seeded(Uuid::new_v4().as_u128() as u64)
    }

    pub(super) fn seeded(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit.max(1)
    }

    /// Anything from `from` to `to`.
    pub(super) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        let micros = to.saturating_sub(from).as_micros() as u64;
        from + Duration::from_micros(self.below(micros + 1))
    }

    /// How long to wait after so many collisions in a row, of rounds that take `round`: from a few milliseconds to a second.
    pub(super) fn backoff(&mut self, collisions: u32, round: Duration) -> Duration {
        let doublings = collisions.clamp(1, DOUBLINGS) - 1;
        let whole = (FIRST.max(round * 2) * (1 << doublings)).min(LONGEST);
        self.between(whole / 8, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_never_beyond_a_second() {
        let mut jitter = Jitter::new();
        for collisions in 0..100 {
            let wait = jitter.backoff(collisions, Duration::from_millis(1));
            assert!(wait >= Duration::from_micros(500) && wait <= LONGEST);
        }
        let longest = (0..100).map(|_| jitter.backoff(20, Duration::ZERO)).max();
        assert!(longest > Some(LONGEST / 4), "{longest:?}");
    }
}
