//! [`Watchdog`]: how long a connection whose server is silent is kept.

use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::RENEWALS;
use auto_mutex_seam::store::clock::Instant;

/// The watchdog's interval. It counts intervals, not time, so that a suspended process does not mistake its own sleep
/// for silence.
pub const BEAT: Duration = Duration::from_millis(500);
/// After how many silent beats the connection is given up, depending on the lease. With the default lease it is eleven,
/// five and a half seconds, which outlasts a server that stalls for five in an fsync or a fork, whose load reconnects
/// would increase.
const PATIENCE: (u32, u32) = (4, 13);
/// The part of a lease that the watchdog leaves for the reconnect, if the connection died just before a renewal. It
/// ends up to a beat late.
const REST: Duration = Duration::from_secs(1);
/// The watchdog waits this many times as long as the slowest recent answer took, up to half a minute.
const SLOWER: u32 = 4;
const MOST_PATIENCE: u32 = 60;
/// After this many idle beats, a ping is sent.
const IDLE: u32 = 3;
/// If a beat comes so late, the process was frozen or its machine slept. The connection may have died meanwhile, in
/// silence, so it has to answer a ping within a beat.
const FROZEN: Duration = Duration::from_secs(5);

/// Watches one connection. All times are in beats.
#[derive(Debug)]
pub struct Watchdog {
    idle: u32,
    silent: u32,
    slowest: u32,
    patience: u32,
    last: Option<Instant>,
    /// Whether nothing has been heard since the process was frozen.
    doubts: bool,
}

impl Watchdog {
    /// For a client whose leases are of this length. `slowest` is how long the slowest answer took so far.
    pub fn new(lease: Duration, slowest: Duration) -> Self {
        let beats = |time: Duration| time.as_millis() / BEAT.as_millis();
        let patience = beats((lease - lease / RENEWALS).saturating_sub(REST));
        Self {
            idle: 0,
            silent: 0,
            slowest: beats(slowest).min(MOST_PATIENCE.into()) as u32,
            patience: (patience as u32).clamp(PATIENCE.0, PATIENCE.1),
            last: None,
            doubts: false,
        }
    }

    /// Notes that a whole answer has arrived.
    pub fn answered(&mut self) {
        self.slowest = self.slowest.max(self.silent);
        self.heard();
    }

    /// Notes another sign that the server is alive.
    pub fn heard(&mut self) {
        (self.silent, self.doubts) = (0, false);
    }

    /// Makes slow answers of long ago count less.
    pub fn forget(&mut self) {
        self.slowest /= 2;
    }

    /// Counts a beat at `now`. `has_written`: something was sent since the last one; `is_quiet`: no answer is awaited.
    /// Returns whether a ping is due, or an error once the server has been silent for too long.
    pub fn beat(
        &mut self,
        now: Instant,
        has_written: bool,
        is_quiet: bool,
    ) -> Result<bool, StoreError> {
        let last = self.last.replace(now);
        let is_late = last.is_some_and(|last| last.until(now) > FROZEN);
        if is_late {
            (self.silent, self.doubts) = (0, true);
        }
        self.idle = if has_written { 0 } else { self.idle + 1 };
        self.silent = if is_quiet { 0 } else { self.silent + 1 };
        let least = if self.doubts { 1 } else { self.patience };
        if self.silent > (self.slowest * SLOWER).clamp(least, MOST_PATIENCE) {
            return Err(StoreError::disconnected("the server does not answer"));
        }
        Ok(is_quiet && (self.idle >= IDLE || is_late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long after an answered renewal its connection is given up, if it dies after `died`, and the first beat is
    /// after `phase`.
    fn given_up(lease: Duration, died: Duration, phase: Duration) -> Duration {
        let mut watchdog = Watchdog::new(lease, Duration::ZERO);
        let mut renewal = lease / RENEWALS;
        let (mut has_written, mut is_quiet) = (true, true);
        for beat in 0.. {
            let now = phase + BEAT * beat;
            if renewal <= now {
                has_written = true;
                is_quiet = renewal < died;
                renewal += lease / RENEWALS;
            }
            match watchdog.beat(Instant::START.after(now), has_written, is_quiet) {
                Err(_) => return now,
                Ok(pings) => {
                    has_written = pings;
                    is_quiet &= !pings || now < died;
                }
            }
        }
        unreachable!("beats do not end")
    }

    #[test]
    fn whenever_a_connection_dies_it_is_given_up_half_a_second_before_the_lease_ends() {
        let steps = |to: Duration| (0..=20).map(move |step| to * step / 20);
        for lease in (4500..30_000).step_by(250).map(Duration::from_millis) {
            for died in steps(lease / RENEWALS) {
                for phase in steps(BEAT) {
                    let end = given_up(lease, died, phase);
                    let what = (lease, died, phase);
                    assert!(end <= lease - BEAT, "{what:?}: given up after {end:?}");
                }
            }
        }
    }

    #[test]
    fn after_a_freeze_the_server_has_one_beat_to_answer() {
        let mut watchdog = Watchdog::new(Duration::from_secs(10), Duration::ZERO);
        let mut now = Instant::START;
        assert!(!watchdog.beat(now, true, true).unwrap());
        for (answers, given_up) in [(true, false), (false, true)] {
            now = now.after(Duration::from_secs(20));
            assert!(
                watchdog.beat(now, false, true).unwrap(),
                "it is asked at once"
            );
            if answers {
                watchdog.answered();
            }
            now = now.after(BEAT);
            assert!(watchdog.beat(now, true, answers).is_ok());
            now = now.after(BEAT);
            assert_eq!(watchdog.beat(now, false, answers).is_err(), given_up);
        }
    }
}
