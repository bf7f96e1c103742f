//! Warns if the holder is a task of a runtime whose workers are all blocked by calls that wait for locks.
//!
//! Such a holder can't run on, so it can't release its lock. The engine looks after [`Config::deadlock_after`], and again
//! at each doubling, because the last worker may be blocked later.
//!
//! [`Config::deadlock_after`]: crate::Config::deadlock_after

use std::sync::Arc;

use super::hold::Hold;
use super::lock_queue::Transition;
use super::waiter::Waiter;
use crate::config::Deadlock;
use crate::observe::{ACQUIRE, CallerPlace};
use crate::task::{Home, all_blocked};

impl Transition<'_> {
    /// Makes the engine look whether `waiter`, which enters the queue, blocks one of the workers that its holder needs.
    pub(super) fn note_blocked(&mut self, waiter: &Waiter) {
        let settings = self.queue.member().settings();
        if waiter.want.by.blocks.is_some() && settings.deadlock != Deadlock::Off {
            let look = self.now.after(settings.deadlock_after);
            let first = self.state.look_at_workers.get_or_insert(look);
            *first = (*first).min(look);
        }
    }

    pub(super) fn warn_of_blocked_workers(&mut self) {
        if self
            .state
            .look_at_workers
            .is_none_or(|look| look > self.now)
        {
            return;
        }
        let after = self.queue.member().settings().deadlock_after;
        let mut next = None;
        let mut stuck = None;
        for waiter in &self.state.waiters {
            let Some(runtime) = waiter.want.by.blocks else {
                continue;
            };
            let waited = waiter.waited(self.now);
            let look = self.now.after(waited.max(after));
            next = Some(next.map_or(look, |next| look.min(next)));
            if waited >= after && stuck.is_none() {
                stuck = self
                    .holder_in(Home::Workers(runtime))
                    .and_then(|hold| Some((waiter.clone(), hold.clone(), all_blocked(runtime)?)));
            }
        }
        self.state.look_at_workers = next;
        if let Some((waiter, hold, workers)) = stuck {
            self.warn_of(&waiter, hold, workers);
        }
    }

    /// A hold of a task that needs `home`.
    fn holder_in(&self, home: Home) -> Option<&Arc<Hold>> {
        self.holds()
            .find(|hold| hold.grant().home == Some(home) && hold.is_valid())
    }

    /// Warns once for each hold.
    fn warn_of(&mut self, waiter: &Waiter, hold: Arc<Hold>, workers: usize) {
        let token = hold.grant().token;
        if std::mem::replace(&mut self.state.warned_of, token) == token {
            return;
        }
        let (name, meta) = (self.queue.name().clone(), waiter.want.meta.clone());
        self.wakes.report(move || {
            let (holder, site) = (CallerPlace(&hold.grant().meta), CallerPlace(&meta));
            tracing::warn!(target: ACQUIRE, %name, %holder, %site, workers, "a lock may never be released: all worker threads of its holder's runtime are blocked by calls that wait for locks; use the async methods in async code, or `spawn_blocking`");
        });
    }
}
