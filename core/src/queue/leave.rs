//! What guards do with a hold: they release it, extend it, and hand it on.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_protocol::client::Input;

use super::hold::Hold;
use super::lock_queue::Confirmed;
use crate::base::clock;
use crate::base::wait::{DeferredWakes, Promise};
use crate::lease::{Bounds, Tenure};

impl Hold {
    /// With `returns`, the holder did not use its grant, and a granted signal goes to the next waiter.
    pub(crate) fn release(self: &Arc<Self>, returns: bool) {
        let hold = self.call();
        self.queue.step(|step| {
            let ask = None;
            step.on(Input::Release { hold, returns, ask });
        });
        self.finish();
    }

    /// Drops an unused guard. If the release of the last one is to be `confirmed`, the promise completes within a
    /// [`moment`](auto_mutex_protocol::client::ClientTimes::moment).
    pub(crate) fn give_back(self: &Arc<Self>, confirmed: bool) -> Option<Confirmed> {
        if !self.remove_guard() {
            return None;
        }
        if confirmed {
            let core = &self.queue.core;
            return Some(self.leave_confirmed(true, core.times.moment(core.limits)));
        }
        self.release(true);
        None
    }

    /// The result is the number of units that are free afterwards. If this process hands the lock off, it is known
    /// immediately.
    pub(crate) fn unlock(self: &Arc<Self>) -> Confirmed {
        self.leave_confirmed(false, self.queue.core.times.store_timeout)
    }

    fn leave_confirmed(self: &Arc<Self>, returns: bool, limit: Duration) -> Confirmed {
        let promise = Arc::new(Promise::default());
        let hold = self.call();
        let left = self.queue.step(|step| {
            let ask = Some((step.expect(&promise), limit));
            step.on(Input::Release { hold, returns, ask });
        });
        self.finish();
        if left.is_none() {
            let _ = promise.complete(Ok(None), &mut DeferredWakes::default());
        }
        promise
    }

    /// Keeps the hold in the store, so that another client can adopt it. Returns `false` if the hold has already ended.
    pub(crate) fn export(self: &Arc<Self>) -> bool {
        let hold = self.call();
        let over = self.queue.step(|step| {
            let held = step.slot.hold(hold).is_some();
            step.on(Input::Export { hold });
            held && self.is_released()
        });
        self.finish();
        over == Some(true)
    }

    /// Asks the store to renew the lease now. Like the next functions, returns `None` if the hold is lost or released.
    pub(crate) fn renew(self: &Arc<Self>) -> Option<Confirmed> {
        self.ask_for(None)
    }

    fn ask_for(self: &Arc<Self>, units: Option<u32>) -> Option<Confirmed> {
        let hold = self.call();
        self.queue.step(|step| {
            step.slot.hold(hold)?;
            let promise = Arc::new(Promise::default());
            let ask = Some(step.expect(&promise));
            step.on(Input::Renew { hold, ask, units });
            Some(promise)
        })?
    }

    pub(crate) fn downgrade(self: &Arc<Self>, units: u32) -> Option<Confirmed> {
        self.keep_units(units);
        self.ask_for(Some(units))
    }

    pub(crate) fn refresh(self: &Arc<Self>, expire: Duration) -> Option<Confirmed> {
        if !self.is_valid() {
            return None;
        }
        self.expire_after(Some(expire), clock::now());
        self.renew()
    }

    /// The call that has this hold begins now, or waits for further locks.
    pub(crate) fn restart(self: &Arc<Self>, tenure: Tenure) {
        let now = clock::now();
        self.expire_after(tenure.expire, now);
        self.park_for(tenure.at_least, now);
        let renewal = self.queue.core.times.renewal_after(now);
        let expires = self.expires();
        if self.valid() < renewal.min(expires) {
            // The lease ended with the old `expire`, so the store must extend it before the next renewal.
            self.renew();
        } else if expires < renewal {
            // An empty transition schedules the background thread for the end of the hold, to report the loss.
            self.queue.step(|_| {});
        }
    }

    /// Makes the background thread wake the listeners when one of `bounds` ends, too.
    pub(crate) fn watch(self: &Arc<Self>, bounds: &Bounds) {
        let call = self.call();
        self.queue.step(|step| {
            step.slot.hold(call)?;
            let watched = &mut step.slot.bounds;
            watched.retain(|(_, known)| known.strong_count() > 0);
            for bound in bounds.all().iter().map(Arc::downgrade) {
                let is_known = |known: &(_, _)| known.0 == call && bound.ptr_eq(&known.1);
                if !watched.iter().any(is_known) {
                    watched.push((call, bound));
                }
            }
            Some(())
        });
    }
}
