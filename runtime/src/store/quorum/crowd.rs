//! Who has just released lets those go first that he woke: else he would mostly be the first to ask again, and those who
//! are woken would find the name taken time and again.

use std::time::Duration;

use super::state::Quorum;
use crate::clock::Instant;
use crate::name::{Name, NameMap};

/// How long after a release its member gives way.
const SOON: Duration = Duration::from_millis(20);
/// How long it is remembered that somebody waited.
const REMEMBERED: Duration = Duration::from_secs(1);
/// So many names are remembered at most.
const NAMES: usize = 1024;

/// The first way of those who were woken takes so long at least.
const FIRST: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
pub(super) struct Crowds(NameMap<Crowd>);

/// What is known of those who wait for a name, by the name that they queue under.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    released: Instant,
    /// When a release found somebody waiting, if the last one did.
    woke: Option<Instant>,
}

impl Crowds {
    /// This member has released.
    pub(super) fn released(&mut self, side: &Name, now: Instant) {
        if self.0.len() >= NAMES {
            self.0
                .retain(|_, crowd| crowd.released.until(now) < REMEMBERED);
        }
        if self.0.len() < NAMES {
            let crowd = self.0.entry(side.clone()).or_insert(Crowd {
                released: now,
                woke: None,
            });
            crowd.released = now;
        }
    }

    /// Its release has woken somebody, or nobody.
    pub(super) fn woke(&mut self, side: &Name, somebody: bool, now: Instant) {
        if let Some(crowd) = self.0.get_mut(side) {
            crowd.woke = somebody.then_some(now);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether somebody was woken just now, as far as that can be guessed before the servers have said so.
    fn comes(&self, side: &Name, now: Instant) -> bool {
        self.0.get(side).is_some_and(|crowd| {
            let waited = crowd.woke.is_some_and(|woke| woke.until(now) < REMEMBERED);
            waited && crowd.released.until(now) < SOON
        })
    }
}

impl Quorum {
    /// How long whoever asks for `name` now gives way.
    pub(super) fn gives_way(&mut self, name: &Name) -> Option<Duration> {
        let comes =
            !self.crowds.is_empty() && self.crowds.comes(&super::entry::beside(name), self.now);
        let way = FIRST.max(self.took * 3);
        comes.then(|| self.jitter.between(way, way * 2))
    }
}
