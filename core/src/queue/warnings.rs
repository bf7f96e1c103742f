//! Warnings about long waits and holds, and about waiters that block all workers of their holder's runtime, which then
//! cannot release its lock. The background thread checks when it runs a queue, so uncontended calls pay nothing.

use std::sync::Arc;
use std::time::Duration;

use tracing::field::debug;

use super::hold::Hold;
use super::lock_queue::Transition;
use super::waiter::{Waiter, Want};
use crate::base::clock::Instant;
use crate::base::duration::rounded;
use crate::base::error::LockKind;
use crate::base::sync::atomic::{AtomicU32, Ordering};
use crate::base::task::{Home, all_blocked};
use crate::config::Deadlock;
use crate::observe::{ACQUIRE, CallerLocation, HOLD};
use crate::site::note_holder;
use crate::store::{HolderRecord, SharedStr, meta};

const OWN: &str = "the same task took this lock by hand and may be waiting for itself";

impl Transition<'_> {
    /// `None` for a lock that never expires, and for a leader's seat: they may be held for the life of the process.
    fn slow(&self, want: &Want) -> Option<Duration> {
        let settings = self.queue.core.settings();
        let is_permanent = want.tenure.expire.is_none() && settings.expire.is_some();
        let is_permanent = is_permanent || want.share.kind == LockKind::Leader;
        settings.slow.filter(|_| !is_permanent)
    }

    /// When the first waiter gets slow. The others are checked whenever the queue runs.
    pub(super) fn first_slow_waiter(&self) -> Option<Instant> {
        let first = self.slot.state.waiters().next()?;
        let slow = self.slow(&first.call.want)?;
        let waits = first.call.want.share.capacity > 0;
        waits.then(|| first.call.started.after(first.warned.next(slow)))
    }

    pub(super) fn slow_holder(&self, hold: &Hold) -> Option<Instant> {
        let next = hold.warned.next(self.slow(hold.want())?);
        Some(hold.since.after(next))
    }

    pub(super) fn warn_of_slow(&mut self) {
        let Some(slow) = self.queue.core.settings().slow else {
            return;
        };
        self.warn_of_waiters(slow);
        for hold in &self.slot.holds {
            if self.slow(hold.want()).is_none() {
                continue;
            }
            let long = hold.since.until(self.now);
            if !hold.warned.is_due(long, slow) {
                continue;
            }
            let name = self.queue.name.clone();
            let (meta, waiters) = (hold.want().meta.clone(), self.slot.state.load().waiting);
            let (token, left) = (hold.grant.token, hold.expires_in(self.now));
            self.wakes.report(move || {
                let holder = CallerLocation(&meta);
                let expires_in = (left < Duration::MAX).then_some(debug(left));
                tracing::warn!(target: HOLD, %name, held = ?long, %holder, token, waiters, expires_in, "a lock has been held for a long time");
            });
        }
    }

    fn warn_of_waiters(&mut self, slow: Duration) {
        // Waiters from the same line of code share one warning, with the first waiter, its place in the store's queue,
        // and their number.
        let mut found: Vec<(Arc<Waiter>, Option<u64>, u64)> = Vec::new();
        let mut note = |waiter: &Arc<Waiter>, place: Option<u64>| {
            let waited = waiter.call.waited(self.now);
            // A wait for a signal is never slow: it may take any time.
            let may_be_slow =
                waiter.call.want.share.capacity > 0 && self.slow(&waiter.call.want).is_some();
            if !may_be_slow || !waiter.warned.is_due(waited, slow) {
                return;
            }
            match found.iter_mut().find(|it| site(&it.0) == site(waiter)) {
                Some((_, _, calls)) => *calls += 1,
                None => found.push((waiter.clone(), place, 1)),
            }
        };
        // In order of arrival. Only a waiter that missed a grant can have waited longer than those before it.
        let is_old = |waiter: &&Arc<Waiter>| waiter.call.waited(self.now) >= slow;
        let queued = self.slot.state.waiters().take_while(is_old);
        // Waiters without a ticket come after this process's last ticket, and their places are counted on from there.
        let mut known = self.slot.state.places();
        let mut last = None;
        for waiter in queued {
            last = match known.next() {
                Some(place) => place,
                None => last.map(|last: u64| last + 1),
            };
            note(waiter, last);
        }
        drop(known);
        for caller in self.slot.state.attempts() {
            note(caller, None);
        }
        if found.is_empty() {
            return;
        }
        let holder = self.slot.state.holder().and_then(meta::read);
        let holder = holder.map_or_else(|| "unknown".to_owned(), |holder| holder.to_string());
        let closed = self.env.closed.map(|closed| closed.error(self.now));
        let closed = closed.map(|error| error.to_string());
        for (waiter, place, calls) in found {
            let (name, holder) = (self.queue.name.clone(), holder.clone());
            let (meta, waited) = (waiter.call.want.meta.clone(), waiter.call.waited(self.now));
            let own = self.has_taken(&waiter).then(|| OWN.to_owned());
            let hint = own.or_else(|| closed.clone());
            self.wakes.report(move || {
                let site = CallerLocation(&meta);
                tracing::warn!(target: ACQUIRE, %name, waited = ?rounded(waited), place, %holder, %site, calls, hint, "a call has been waiting for a lock for a long time");
            });
        }
    }

    /// The store names who holds the lock that calls wait for.
    pub(super) fn note_holder(&mut self, holder: &HolderRecord) {
        let Some(first) = self.slot.state.waiters().next() else {
            return;
        };
        let found = [&first.call.want.meta, &holder.meta];
        let [ours, theirs] = found.map(program);
        let compared = self.slot.compared.as_ref();
        let is_known = compared.is_some_and(|it| it.each_ref().map(program) == [ours, theirs]);
        if ours != theirs && !is_known {
            let (name, now) = (self.queue.name.clone(), self.now);
            let permits = ours.1.zip(theirs.1).filter(|(here, there)| here != there);
            let permits = permits.filter(|_| self.queue.core.other_permits.pass(now).is_some());
            let [ours, theirs] = found.map(SharedStr::clone);
            self.slot.compared = Some([ours.clone(), theirs.clone()]);
            self.wakes.report(move || {
                note_holder(&name, &ours, &theirs, now);
                if let Some((here, there)) = permits {
                    let holder = CallerLocation(&theirs);
                    tracing::warn!(target: ACQUIRE, %name, here, there, %holder, "the holder's program gives the semaphore another number of permits: the smallest applies while calls with it hold or wait, so use one number everywhere");
                }
            });
        }
    }

    /// Its guard may be with another task by now.
    fn has_taken(&self, waiter: &Waiter) -> bool {
        let task = waiter.by.task;
        let by_task = |hold: &Arc<Hold>| hold.taken() == task && hold.is_valid();
        task.is_some() && self.slot.holds.iter().any(by_task)
    }

    pub(super) fn note_blocked(&mut self, waiter: &Waiter) {
        let settings = self.queue.core.settings();
        if waiter.by.blocks.is_some() && settings.deadlock != Deadlock::Off {
            let look = self.now.after(settings.deadlock_after);
            let first = self.slot.look_at_workers.get_or_insert(look);
            *first = (*first).min(look);
        }
    }

    pub(super) fn warn_of_blocked_workers(&mut self) {
        let look = self.slot.look_at_workers;
        if look.is_none_or(|look| look > self.now) {
            return;
        }
        let after = self.queue.core.settings().deadlock_after;
        let mut next = None;
        let mut stuck = None;
        for waiter in self.slot.state.waiters() {
            let Some(runtime) = waiter.by.blocks else {
                continue;
            };
            let waited = waiter.call.waited(self.now);
            let look = self.now.after(waited.max(after));
            next = Some(next.map_or(look, |next| look.min(next)));
            if waited >= after && stuck.is_none() {
                let home = Some(Home::Workers(runtime));
                let is_held = |hold: &&Arc<Hold>| hold.by().home == home && hold.is_valid();
                let hold = self.slot.holds.iter().find(is_held);
                stuck = hold.and_then(|hold| Some((waiter, hold.clone(), all_blocked(runtime)?)));
            }
        }
        self.slot.look_at_workers = next;
        let Some((waiter, hold, workers)) = stuck else {
            return;
        };
        // Only one warning per hold.
        let token = hold.grant.token;
        if std::mem::replace(&mut self.slot.warned_of, token) != token {
            let (name, meta) = (self.queue.name.clone(), waiter.call.want.meta.clone());
            self.wakes.report(move || {
                let (holder, site) = (CallerLocation(&hold.want().meta), CallerLocation(&meta));
                tracing::warn!(target: ACQUIRE, %name, %holder, %site, workers, "a lock may never be released: all worker threads of its holder's runtime are blocked by calls that wait for locks; use the async methods in async code, or `spawn_blocking`");
            });
        }
    }
}

/// Where a call comes from, whatever the process, and how many permits it gives.
fn program(meta: &SharedStr) -> (Option<&str>, Option<u32>) {
    (meta::location(meta).rsplit(' ').next(), meta::permits(meta))
}

fn site(waiter: &Waiter) -> &str {
    meta::location(&waiter.call.want.meta)
}

/// How often `Config::slow` was doubled to get the time of the next warning.
#[derive(Debug, Default)]
pub(super) struct Warned(AtomicU32);

impl Warned {
    pub(super) fn next(&self, slow: Duration) -> Duration {
        let doublings = self.0.load(Ordering::Relaxed);
        slow.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
    }

    /// If it is due, sets the time of the next warning to the first doubling longer than `long`.
    pub(super) fn is_due(&self, long: Duration, slow: Duration) -> bool {
        let due = long >= self.next(slow);
        while long >= self.next(slow) && self.0.load(Ordering::Relaxed) < u32::BITS {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        due
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
