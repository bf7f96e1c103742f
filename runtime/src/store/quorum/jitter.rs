//! Waits that differ from member to member.

use std::time::Duration;

use uuid::Uuid;

/// The first wait after a collision is half of this at least, and the longest one twice that of a second.
const FIRST: Duration = Duration::from_millis(4);
const DOUBLINGS: u32 = 8;

/// Anything from `from` to `to`.
pub(super) fn between(from: Duration, to: Duration) -> Duration {
    let random = Uuid::new_v4().as_u128() as u32;
    from + to
        .saturating_sub(from)
        .mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// How long to wait after so many collisions in a row, of rounds that take `round`: from a few milliseconds to a second.
pub(super) fn backoff(collisions: u32, round: Duration) -> Duration {
    let whole = FIRST.max(round * 2) * (1 << (collisions.clamp(1, DOUBLINGS) - 1));
    let whole = whole.min(Duration::from_secs(1));
    between(whole / 8, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_never_beyond_a_second() {
        for collisions in 0..100 {
            let wait = backoff(collisions, Duration::from_millis(1));
            assert!(wait >= Duration::from_micros(500) && wait <= Duration::from_secs(1));
        }
        let late = (0..100).map(|_| backoff(20, Duration::ZERO)).max().unwrap();
        assert!(late > Duration::from_millis(300), "{late:?}");
    }
}
