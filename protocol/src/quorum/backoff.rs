//! Delays that keep members from colliding: a random pause after a round that nobody won, and a head start for waiters
//! woken by a release, because the releasing member would usually overtake them.

use core::time::Duration;

use super::Step;
use super::env::Name;
use super::nodes::Nodes;

impl<N> Nodes<'_, '_, N> {
    pub(super) fn backoff(&mut self, collisions: u32, round: Duration) -> Duration {
        let limits = &self.limits.quorum;
        let doublings = collisions.clamp(1, limits.doublings) - 1;
        let whole =
            (limits.first_pause.max(round * 2) * (1 << doublings)).min(limits.longest_pause);
        self.env.between(whole / 8, whole)
    }
}

impl<N: Name> Step<'_, '_, N> {
    /// `queue` is the wake queue of the name.
    pub(super) fn note_release(&mut self, queue: &N) {
        let (now, (remembered, names)) = (self.nodes.now, self.nodes.limits.quorum.remembered);
        if self.rounds.releases.len() >= names {
            self.rounds
                .releases
                .retain(|_, (at, _)| at.until(now) < remembered);
        }
        if self.rounds.releases.len() < names {
            self.rounds
                .releases
                .entry(queue.clone())
                .or_insert((now, None))
                .0 = now;
        }
    }

    pub(super) fn note_woken(&mut self, queue: &N, count: u64) {
        if let Some((_, woke)) = self.rounds.releases.get_mut(queue) {
            *woke = (count > 0).then_some(self.nodes.now);
        }
    }

    pub(super) fn head_start(&mut self, name: &N) -> Option<Duration> {
        if self.rounds.releases.is_empty() {
            return None;
        }
        let (at, woke) = *self.rounds.releases.get(&name.wake_queue())?;
        let (now, limits) = (self.nodes.now, &self.nodes.limits.quorum);
        let was_awaited = woke?.until(now) < limits.remembered.0;
        let way = limits.head_start.max(self.rounds.took * 3);
        let gives_way = was_awaited && at.until(now) < limits.soon;
        gives_way.then(|| self.nodes.env.between(way, way * 2))
    }
}
