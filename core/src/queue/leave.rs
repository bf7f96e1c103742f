//! Ends and extends holds. A leaving ticket resends its release until the store has answered.

use std::sync::Arc;
use std::time::Duration;

use super::hold::Hold;
use super::lock_queue::{LockQueue, Transition};
use super::ticket::{Confirmed, Held, Leaving, Pending, TicketState};
use crate::base::clock::Instant;
use crate::base::error::{LockError, LossCause, StoreError, StoreErrorKind};
use crate::base::wait::{DeferredWakes, Promise};
use crate::lease::{Bounds, Terms};
use crate::observe::HOLD;
use crate::store::TOKENS_OF_A_GRANT;
use crate::store::{Reply, Ticket as TicketId};

impl Hold {
    /// With `returns`, the holder did not use its grant, and a granted signal goes to the next waiter.
    pub(crate) fn release(self: &Arc<Self>, returns: bool) {
        self.leave(returns, None);
    }

    /// Drops an unused guard. If the release of the last one is to be `confirmed`, the promise completes within a
    /// [`moment`](LockQueue::moment).
    pub(crate) fn give_back(self: &Arc<Self>, confirmed: bool) -> Option<Confirmed> {
        if !self.remove_guard() {
            return None;
        }
        if confirmed {
            return Some(self.leave_confirmed(true, self.queue.moment()));
        }
        self.release(true);
        None
    }

    /// Returns `false` if the hold had been released or lost before; then nothing answers the promise.
    fn leave(self: &Arc<Self>, returns: bool, confirm: Option<(Duration, &Confirmed)>) -> bool {
        let left = self.queue.step(|step| {
            let valid = self.end(step.now, step.wakes);
            let pending = confirm.map(|(time, promise)| Pending {
                counter: 0,
                deadline: step.now.after(time),
                promise: promise.clone(),
            });
            step.release(self, valid, returns, pending)
        });
        self.finish();
        left == Some(true)
    }

    /// The result is the number of units that are free afterwards. If this process hands the lock off, it is known
    /// immediately.
    pub(crate) fn unlock(self: &Arc<Self>) -> Confirmed {
        self.leave_confirmed(false, self.queue.store_timeout())
    }

    fn leave_confirmed(self: &Arc<Self>, returns: bool, limit: Duration) -> Confirmed {
        let promise = Arc::new(Promise::new());
        if !self.leave(returns, Some((limit, &promise))) {
            let _ = promise.complete(Ok(None), &mut DeferredWakes::default());
        }
        promise
    }

    /// Keeps the hold in the store, so that another client can adopt it. Returns `false` if the hold has already ended.
    pub(crate) fn export(self: &Arc<Self>) -> bool {
        let over = self.queue.step(|step| {
            let index = step.find_hold(self)?;
            // The store may have a short lease: it may not know that the call is inside, or that a grant by message arrived.
            step.end_retention(index);
            let ended = self.end(step.now, step.wakes);
            if ended {
                step.state.tickets.remove(index).fail_renewals(step.wakes);
            }
            Some(ended)
        });
        self.finish();
        over.flatten() == Some(true)
    }

    /// Asks the store to renew the lease now. Like the next functions, returns `None` if the hold is lost or released.
    pub(crate) fn renew(self: &Arc<Self>) -> Option<Confirmed> {
        self.queue.step(|step| {
            let index = step.find_hold(self)?;
            step.send(index);
            let deadline = step.now.after(step.queue.store_timeout());
            Some(step.state.tickets[index].promise(deadline))
        })?
    }

    pub(crate) fn downgrade(self: &Arc<Self>, units: u32) -> Option<Confirmed> {
        self.keep_units(units);
        self.renew()
    }

    pub(crate) fn refresh(self: &Arc<Self>, expire: Duration) -> Option<Confirmed> {
        if !self.is_valid() {
            return None;
        }
        self.expire_after(Some(expire), Instant::now());
        self.renew()
    }

    /// The call that has this hold begins now, or waits for further locks.
    pub(crate) fn restart(self: &Arc<Self>, terms: Terms) {
        let now = Instant::now();
        self.expire_after(terms.expire, now);
        self.park_for(terms.at_least, now);
        let (expires, renewal) = (self.expires(), self.queue.next_renewal_after(now));
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
        self.queue.step(|step| {
            let index = step.find_hold(self)?;
            let watched = &mut step.state.tickets[index].held_mut()?.bounds;
            watched.retain(|known| known.strong_count() > 0);
            for bound in bounds.all().iter().map(Arc::downgrade) {
                if !watched.iter().any(|known| known.ptr_eq(&bound)) {
                    watched.push(bound);
                }
            }
            Some(())
        });
    }
}

impl LockQueue {
    /// How long `try_lock` and similar calls wait for the store's answer.
    fn moment(&self) -> Duration {
        self.store_timeout().min(self.core.limits.brief)
    }
}

impl Transition<'_> {
    fn find_hold(&self, hold: &Arc<Hold>) -> Option<usize> {
        let is_of = |held: &Held| Arc::ptr_eq(&held.hold, hold);
        let mut tickets = self.state.tickets.iter();
        tickets.position(|ticket| ticket.held().is_some_and(is_of))
    }

    /// `valid` means that the hold was not lost before, and `returns` that the holder did not use its grant. Returns
    /// `false` if there is no such hold.
    fn release(
        &mut self,
        hold: &Arc<Hold>,
        valid: bool,
        returns: bool,
        mut pending: Option<Pending>,
    ) -> bool {
        let Some(index) = self.find_hold(hold) else {
            return false;
        };
        let ticket = &mut self.state.tickets[index];
        ticket.fail_renewals(self.wakes);
        let park_until = match valid {
            true => self.now.after(hold.park(self.now)),
            false => self.now,
        };
        if valid && park_until == self.now && self.local_handoff(index, hold) {
            if let Some(pending) = pending {
                // No unit is free, because the next holder has all of them.
                let _ = pending.promise.complete(Ok(Some(0)), self.wakes);
            }
            return true;
        }
        let Some(index) = self.find_hold(hold) else {
            return false;
        };
        if valid && park_until == self.now && self.keep(index, &mut pending) {
            return true;
        }
        // Since then the store may have granted the ticket another signal, which was not used.
        let used = valid && !returns && hold.grant.signal.is_some();
        let leaving = Leaving {
            held: valid,
            used: used.then(|| hold.grant.token / TOKENS_OF_A_GRANT),
            ..self.unused(park_until)
        };
        let ticket = &mut self.state.tickets[index];
        ticket.pending.extend(pending);
        ticket.state = TicketState::Leaving(leaving);
        self.withdraw_spare();
        self.send(index);
        true
    }

    /// Forgets a ticket that the store does not have. A copy of its acquire may still arrive.
    pub(super) fn forget(&mut self, index: usize) {
        if self.state.tickets[index].log.late {
            self.withdraw(index);
        } else {
            self.state.tickets.remove(index);
        }
    }

    /// Removes a ticket that no caller needs. If the store may know the ticket, it first has to answer a release.
    pub(super) fn withdraw(&mut self, index: usize) {
        if self.state.tickets[index].is_resting() {
            self.state.tickets.remove(index);
        } else {
            let leaving = Leaving {
                held: self.state.tickets[index].is_kept(),
                ..self.unused(self.now)
            };
            self.leave(index, leaving);
        }
    }

    /// The promise completes no later than the attempt would have been answered.
    pub(super) fn withdraw_attempt(&mut self, index: usize, confirmed: bool) -> Option<Confirmed> {
        let ticket = &mut self.state.tickets[index];
        let until = ticket.log.since.after(self.queue.moment());
        let confirmed = confirmed && !ticket.is_resting();
        let promise = confirmed.then(|| ticket.promise(until));
        self.withdraw(index);
        promise
    }

    fn unused(&self, park_until: Instant) -> Leaving {
        Leaving {
            park_until,
            over: self.now.after(self.queue.lease()),
            sent: self.now,
            ..Leaving::default()
        }
    }

    fn leave(&mut self, index: usize, leaving: Leaving) {
        self.state.tickets[index].state = TicketState::Leaving(leaving);
        self.send(index);
    }

    pub(super) fn lose_unknown(&mut self, index: usize) {
        let Some(held) = self.state.tickets[index].held() else {
            // No call is inside, so nobody needs to know that the lock is lost.
            return self.withdraw(index);
        };
        // Records the end by the local clock, if it has come, as the cause.
        held.hold.is_lost();
        let cause = match held.forced {
            true => LossCause::Forced,
            false => LossCause::Forgotten,
        };
        self.lose(index, cause, Duration::ZERO);
    }

    /// `park` is how long the store keeps the ticket.
    pub(super) fn lose(&mut self, index: usize, cause: LossCause, park: Duration) {
        let ticket = &mut self.state.tickets[index];
        if let Some(held) = ticket.held() {
            held.hold.lose(cause, self.wakes);
        }
        ticket.fail_renewals(self.wakes);
        self.leave(index, self.unused(self.now.after(park)));
    }

    pub(super) fn answer_release(
        &mut self,
        id: TicketId,
        operation: [(&'static str, &'static str); 1],
        result: Result<Reply, StoreError>,
    ) {
        let Some(index) = self.state.find(id) else {
            return;
        };
        let TicketState::Leaving(leaving) = &self.state.tickets[index].state else {
            return;
        };
        let (held, unanswered, sent) = (leaving.held, leaving.unanswered, leaving.sent);
        self.note_answer(operation, sent, &result);
        match result {
            Ok(Reply::Released { free }) => self.left(index, Ok(held.then_some(free))),
            // An earlier copy of the release may have removed the ticket, so the local clock decides whether the lock
            // was held.
            Ok(Reply::Gone) if unanswered => self.left(index, Ok(held.then_some(0))),
            Ok(_) => self.left(index, Ok(None)),
            Err(error) => self.release_failed(index, error),
        }
    }

    fn left(&mut self, index: usize, answer: Result<Option<u64>, LockError>) {
        let mut ticket = self.state.tickets.remove(index);
        ticket.answer(|_| true, || answer.clone(), self.wakes);
    }

    fn release_failed(&mut self, index: usize, error: StoreError) {
        let ticket = &mut self.state.tickets[index];
        let TicketState::Leaving(leaving) = &mut ticket.state else {
            return;
        };
        match error.kind() {
            StoreErrorKind::Disconnected => leaving.unanswered = true,
            // The caller gets the error. The release is sent again, because the hold may exist beside the foreign data
            // until its lease ends.
            StoreErrorKind::Foreign => {
                let is_over = self.now >= leaving.over || self.queue.core.is_over();
                ticket.again = self.now.after(self.limits.retry_foreign);
                let error = self.lock_error(error);
                let ticket = &mut self.state.tickets[index];
                ticket.answer(|_| true, || Err(error.clone()), self.wakes);
                if is_over {
                    self.state.tickets.remove(index);
                }
            }
            _ => {
                ticket.again = self.now.after(self.limits.retry);
                let name = self.queue.name.clone();
                if let Some(others) = self.queue.core.failed_releases.pass(self.now) {
                    self.wakes.report(move || {
                        tracing::warn!(target: HOLD, %name, %error, others, "release failed, trying again");
                    });
                }
            }
        }
    }
}
