//! Delays that keep members from colliding: a random pause after a round that nobody won, and a head start for waiters
//! woken by a release, because the releasing member would usually overtake them.

use std::time::Duration;

use auto_mutex_core::store::{Name, between};

use super::machine::Quorum;
use super::wake::wake_queue;

/// The longest pause after a first collision, or twice the duration of a round if that is longer.
const FIRST: Duration = Duration::from_millis(4);
const DOUBLINGS: u32 = 8;
const LONGEST: Duration = Duration::from_secs(1);

const SOON: Duration = Duration::from_millis(20);
const HEAD_START: Duration = Duration::from_millis(2);
const REMEMBERED: (Duration, usize) = (Duration::from_secs(1), 1024);

pub(super) fn backoff(collisions: u32, round: Duration) -> Duration {
    let doublings = collisions.clamp(1, DOUBLINGS) - 1;
    let whole = (FIRST.max(round * 2) * (1 << doublings)).min(LONGEST);
    between(whole / 8, whole)
}

impl Quorum {
    /// `queue` is the wake queue of the name.
    pub(super) fn note_release(&mut self, queue: &Name) {
        let (now, (remembered, names)) = (self.nodes.now, REMEMBERED);
        if self.releases.len() >= names {
            self.releases
                .retain(|_, (at, _)| at.until(now) < remembered);
        }
        if self.releases.len() < names {
            self.releases.entry(queue.clone()).or_insert((now, None)).0 = now;
        }
    }

    pub(super) fn note_woken(&mut self, queue: &Name, count: u64) {
        if let Some((_, woke)) = self.releases.get_mut(queue) {
            *woke = (count > 0).then_some(self.nodes.now);
        }
    }

    pub(super) fn head_start(&mut self, name: &Name) -> Option<Duration> {
        if self.releases.is_empty() {
            return None;
        }
        let (at, woke) = *self.releases.get(&wake_queue(name))?;
        let was_awaited = woke?.until(self.nodes.now) < REMEMBERED.0;
        let way = HEAD_START.max(self.took * 3);
        let gives_way = was_awaited && at.until(self.nodes.now) < SOON;
        gives_way.then(|| between(way, way * 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_never_beyond_a_second() {
        for collisions in 0..100 {
            let wait = backoff(collisions, Duration::from_millis(1));
            assert!(wait >= Duration::from_micros(500) && wait <= LONGEST);
        }
        let longest = (0..100).map(|_| backoff(20, Duration::ZERO)).max();
        assert!(longest > Some(LONGEST / 4), "{longest:?}");
    }
}
