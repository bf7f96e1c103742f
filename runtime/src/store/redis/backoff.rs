//! How long to wait before the next attempt to connect.

use std::time::Duration;

use uuid::Uuid;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// Doubles from 10 ms to 1 s; each wait is between half of that and the whole, so that the members of a
/// server that comes back do not all knock at once.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Backoff {
    pub(super) fn new() -> Self {
        Self(FIRST)
    }

    pub(super) fn next(&mut self) -> Duration {
        let whole = self.0;
        self.0 = (whole * 2).min(LONGEST);
        jittered(whole)
    }
}

/// Between half of it and the whole.
pub(in crate::store) fn jittered(whole: Duration) -> Duration {
    let half = whole / 2;
    let random = Uuid::new_v4().as_u128() as u32;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_second_and_never_beyond() {
        let mut backoff = Backoff::new();
        let mut whole = FIRST;
        for _ in 0..20 {
            let wait = backoff.next();
            assert!(wait >= whole / 2 && wait <= whole, "{wait:?} {whole:?}");
            whole = (whole * 2).min(LONGEST);
        }
    }
}
