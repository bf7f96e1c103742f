//! Handing a lease on to the next waiter of this process, without asking the store.
//!
//! Within a budget of number and time, counted from the store's grant: then the ticket is released, and whoever waits
//! in other processes has its turn. Each hand-over makes a hold of its own, with a fencing token and an `expire` of its
//! own, on the same ticket and lease.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Grant, Hold};
use super::lock_queue::Transition;
use super::ticket::Held;
use super::waiter::Waiter;

/// A lease that is over sooner is not worth handing on.
const SHORTEST: Duration = Duration::from_millis(50);

impl Transition<'_> {
    /// Gives the ticket that lies at `index` of what is held, and which nobody uses any more, to the first waiter, if it
    /// wants the same; `before` was its hold.
    pub(super) fn pass_on(&mut self, index: usize, before: &Arc<Hold>) -> bool {
        let limit = self.local.member().settings().handover;
        let (grant, held) = (before.grant(), &self.state.held[index]);
        let number = held.handed + 1;
        let fits = number <= limit.times
            && self.now < held.since.after(limit.time)
            && self.now.after(SHORTEST) < before.valid()
            && grant.signal.is_none()
            && before.given_back().is_none()
            && !held.owned;
        let attempts = held.log.count();
        let wants_it = |waiter: &Arc<Waiter>| {
            let share = &waiter.want.share;
            let same = (share.units, share.capacity) == (grant.units, grant.capacity);
            // What others hold beside it may have been granted since, with a later token: some units, or the signals of
            // a semaphore.
            same && share.excludes_all()
        };
        while fits && self.state.waiters.front().is_some_and(wants_it) {
            let Some(waiter) = self.state.waiters.pop_front() else {
                break;
            };
            let want = &waiter.want;
            let next = Grant {
                ticket: grant.ticket,
                token: grant.token - grant.token % 1024 + u64::from(number),
                units: grant.units,
                capacity: grant.capacity,
                signal: None,
                owner: want.owner.clone(),
                valid: before.valid(),
                waited: waiter.waited(self.now),
                attempts: want.past.attempts.saturating_add(attempts),
                meta: want.meta.clone(),
                home: want.home,
            };
            let hold = Hold::new(self.local.clone(), next, want.terms, self.now);
            self.share_with_owner(&hold);
            if !waiter.obtain(hold.clone(), self.wakes) && hold.unshare() {
                continue;
            }
            // The lease may have been cut to what was left of the `expire` of the one before.
            let cut = self.local.lease_of(before.terms()) < self.lease_for(want);
            let claim = self.claim_at(before.valid());
            let held = &mut self.state.held[index];
            held.hold = hold;
            held.handed = number;
            held.bounds.clear();
            if cut {
                held.renew = held.renew.min(claim);
            }
            return true;
        }
        false
    }

    /// A ticket may wait in the store for waiters to come, for as long as something is held here: they get what is
    /// handed on, and the ticket keeps this process's place.
    ///
    /// Not beside a part of the units: what waits behind it elsewhere might fit. Nor for a signal, which it would hold up,
    /// or for what fits beside others: see [`Ask::suits`](super::ticket::Ask::suits).
    pub(super) fn keeps_spare(&self) -> bool {
        let whole = |held: &Held| held.hold.weight() == held.hold.grant().capacity;
        matches!(&*self.state.asks, [ask] if ask.share.excludes_all())
            && self.state.held.iter().any(whole)
            && self.local.member().settings().handover.times > 0
    }

    /// Before the last release: nobody here wants to be next.
    pub(super) fn withdraw_spare(&mut self) {
        if self.state.waiters.is_empty() && self.state.held.is_empty() {
            for ask in std::mem::take(&mut self.state.asks) {
                self.withdraw(&ask.log);
            }
        }
    }
}
