//! [`Repeated`]: limits a warning that many locks may cause at the same time. At most one warning a second is logged,
//! with the number of suppressed warnings.

use std::time::Duration;

use crate::clock::Instant;
use crate::sync::Mutex;
use crate::wait::lock;

/// The minimum time between two logged warnings.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Repeated(Mutex<State>);

#[derive(Debug)]
struct State {
    /// When the next warning may be logged.
    next: Instant,
    untold: u64,
}

impl Default for Repeated {
    fn default() -> Self {
        Self(Mutex::new(State {
            next: Instant::START,
            untold: 0,
        }))
    }
}

impl Repeated {
    /// If a warning may be logged now, returns how many were suppressed since the last one.
    pub(crate) fn again(&self, now: Instant) -> Option<u64> {
        let mut state = lock(&self.0);
        if now < state.next {
            state.untold += 1;
            return None;
        }
        state.next = now.after(PAUSE);
        Some(std::mem::take(&mut state.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_second_is_told_and_none_is_forgotten() {
        let repeated = Repeated::default();
        let mut now = Instant::START.after(Duration::from_secs(5));
        assert_eq!(repeated.again(now), Some(0));
        for _ in 0..999 {
            assert_eq!(repeated.again(now), None);
        }
        now = now.after(PAUSE);
        assert_eq!(repeated.again(now), Some(999));
        assert_eq!(repeated.again(now), None);
        assert_eq!(repeated.again(now.after(PAUSE)), Some(1));
    }
}
