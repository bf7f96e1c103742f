//! Ends and prolongs holds. A leaving ticket resends its release until the store has answered.

use std::sync::Arc;
use std::time::Duration;

use super::due::BRIEF;
use super::hold::Hold;
use super::lock_queue::{LockQueue, Transition};
use super::ticket::{Confirmed, Held, Leaving, Refresher, TicketState, Unlocked, Unlocker};
use crate::clock::Instant;
use crate::error::LossCause;
use crate::lease::{Bounds, Terms};
use crate::store::Ticket as TicketId;
use crate::store::limits::TOKENS_OF_A_GRANT;
use crate::wait::{DeferredWakes, Promise};

impl LockQueue {
    /// Releases the hold after its last guard was dropped, without waiting for the store.
    pub(crate) fn release(self: &Arc<Self>, hold: &Arc<Hold>) {
        self.end(hold, false);
    }

    /// Like [`release`](Self::release), for a holder that did not use its grant: a granted signal is passed to the next
    /// waiter.
    pub(crate) fn give_back(self: &Arc<Self>, hold: &Arc<Hold>) {
        self.end(hold, true);
    }

    fn end(self: &Arc<Self>, hold: &Arc<Hold>, returns: bool) {
        if self.member().is_forked() {
            return;
        }
        let Some(mut state) = self.open() else {
            return;
        };
        let (now, mut wakes) = (Instant::now(), DeferredWakes::default());
        let valid = hold.end(now, &mut wakes);
        if self.release_lent(&mut state, hold, now) {
            drop(state);
            wakes.wake();
            hold.finish();
            return;
        }
        self.go_on(state, now, wakes, |step| {
            step.release(hold, valid, returns, None);
        });
        hold.finish();
    }

    /// Releases the hold. If the lock was still held, the result is the number of units that are free afterwards. The
    /// promise completes with the store's answer, or at once if this process hands the lock on.
    pub(crate) fn unlock(self: &Arc<Self>, hold: &Arc<Hold>) -> Unlocked {
        self.end_confirmed(hold, false, self.member().settings().store_timeout())
    }

    /// Like [`give_back`](Self::give_back), but returns a promise, which completes within a [`moment`](Self::moment).
    pub(crate) fn give_back_confirmed(self: &Arc<Self>, hold: &Arc<Hold>) -> Unlocked {
        self.end_confirmed(hold, true, self.moment())
    }

    fn end_confirmed(
        self: &Arc<Self>,
        hold: &Arc<Hold>,
        returns: bool,
        store_timeout: Duration,
    ) -> Unlocked {
        let promise = Arc::new(Promise::new());
        let released = self.step(|step| {
            let valid = hold.end(step.now, step.wakes);
            let unlocker = (step.now.after(store_timeout), promise.clone());
            step.release(hold, valid, returns, Some(unlocker));
        });
        if released.is_none() {
            let _ = promise.complete(Ok(None), &mut DeferredWakes::default());
        }
        hold.finish();
        promise
    }

    /// How long `try_lock` and similar calls wait for the store's answer.
    pub(super) fn moment(&self) -> Duration {
        self.member().settings().store_timeout().min(BRIEF)
    }

    /// Ends the hold here but keeps it in the store, so that another client can adopt it. Returns `false` if the hold
    /// has already ended.
    pub(crate) fn export(self: &Arc<Self>, hold: &Arc<Hold>) -> bool {
        let over = self.step(|step| {
            let index = step.find_hold(hold)?;
            if !hold.end(step.now, step.wakes) {
                return None;
            }
            if let Some(held) = step.state.tickets.remove(index).held_mut() {
                held.fail_refreshers(step.wakes);
            }
            Some(())
        });
        hold.finish();
        over.flatten().is_some()
    }

    /// Asks the store to renew the lease now. `None` if the hold is lost or released.
    pub(crate) fn renew(self: &Arc<Self>, hold: &Arc<Hold>) -> Option<Confirmed> {
        let promise = Arc::new(Promise::new());
        self.step(|step| {
            let index = step.find_hold(hold)?;
            step.send(index);
            let deadline = step.now.after(self.member().settings().store_timeout());
            let ticket = &mut step.state.tickets[index];
            let counter = u64::from(ticket.log.count());
            ticket.held_mut()?.refreshers.push(Refresher {
                counter,
                deadline,
                promise: promise.clone(),
            });
            Some(promise)
        })?
    }

    /// Gives back all units but `units`, and notifies the store. `None` if the hold is lost or released.
    pub(crate) fn downgrade(self: &Arc<Self>, hold: &Arc<Hold>, units: u32) -> Option<Confirmed> {
        hold.downgrade(units);
        self.renew(hold)
    }

    /// Restarts `expire` now, and notifies the store. `None` if the hold is lost or released.
    pub(crate) fn refresh(
        self: &Arc<Self>,
        hold: &Arc<Hold>,
        expire: Duration,
    ) -> Option<Confirmed> {
        if !hold.is_valid() {
            return None;
        }
        hold.restart(Some(expire), Instant::now());
        self.renew(hold)
    }

    /// Restarts `expire`, because the call that has `hold` begins now, or waits for more locks.
    pub(crate) fn restart(self: &Arc<Self>, hold: &Arc<Hold>, terms: Terms) {
        let now = Instant::now();
        hold.restart(terms.expire, now);
        hold.keep(terms.at_least, now);
        // The lease was requested only up to the old `expire`: the store must extend it before the next renewal is
        // due.
        if hold.valid() < self.next_renewal_after(now).min(hold.expires()) {
            self.renew(hold);
        } else if hold.expires() < self.next_renewal_after(now) {
            // The hold ends before the next renewal. An empty transition makes the engine run at that time, to report
            // the loss.
            self.step(|_| {});
        }
    }

    /// Makes the engine wake the listeners of `hold` also when one of `bounds` ends.
    pub(crate) fn watch(self: &Arc<Self>, hold: &Arc<Hold>, bounds: &Bounds) {
        self.step(|step| {
            let index = step.find_hold(hold)?;
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

impl Transition<'_> {
    /// The index of the ticket of `hold`; `None` if the ticket has left, or was handed to the next waiter.
    fn find_hold(&self, hold: &Arc<Hold>) -> Option<usize> {
        let is_of = |held: &Held| Arc::ptr_eq(&held.hold, hold);
        let mut tickets = self.state.tickets.iter();
        tickets.position(|ticket| ticket.held().is_some_and(is_of))
    }

    /// Hands the ticket of `hold`, which has just ended, to the next waiter here, or releases it. `valid`: the hold was
    /// not lost before. `returns`: the holder did not use its grant.
    fn release(
        &mut self,
        hold: &Arc<Hold>,
        valid: bool,
        returns: bool,
        unlocker: Option<Unlocker>,
    ) {
        let Some(index) = self.find_hold(hold) else {
            // The hold was lost or released before, so nothing is left to do for its ticket.
            if let Some((_, unlocker)) = unlocker {
                let _ = unlocker.complete(Ok(None), self.wakes);
            }
            return;
        };
        if let Some(held) = self.state.tickets[index].held_mut() {
            held.fail_refreshers(self.wakes);
        }
        let park_until = if valid {
            self.now.after(hold.park(self.now))
        } else {
            self.now
        };
        if valid && park_until == self.now && self.local_handoff(index, hold) {
            // The valid lease proves that the lock was held. No unit is free now, because the next holder has all of
            // them.
            if let Some((_, unlocker)) = unlocker {
                let _ = unlocker.complete(Ok(Some(0)), self.wakes);
            }
            return;
        }
        let Some(index) = self.find_hold(hold) else {
            return;
        };
        // The release names the grant whose signal was used. The store may have granted the ticket again since, with
        // another signal, which was not used.
        let used = valid && !returns && hold.grant().signal().is_some();
        let leaving = Leaving {
            held: valid,
            used: used.then(|| hold.grant().token / TOKENS_OF_A_GRANT),
            unlocker,
            ..self.unused(park_until)
        };
        self.state.tickets[index].state = TicketState::Leaving(leaving);
        self.withdraw_spare();
        self.send(index);
    }

    /// Removes the ticket at `index`, which the store does not have. If a copy of its acquire may still arrive, withdraws
    /// the ticket instead.
    pub(super) fn forget(&mut self, index: usize) {
        if self.state.tickets[index].log.late {
            self.withdraw(index);
        } else {
            self.state.tickets.remove(index);
        }
    }

    /// Removes the ticket at `index`, in any of its states, because no caller needs it: at once if the store cannot know
    /// it, otherwise when the store has answered the release.
    pub(super) fn withdraw(&mut self, index: usize) {
        if self.state.tickets[index].is_resting() {
            self.state.tickets.remove(index);
            return;
        }
        let leaving = self.unused(self.now);
        self.leave(index, leaving);
    }

    pub(super) fn withdraw_by_id(&mut self, id: TicketId) {
        if let Some(index) = self.state.find(id) {
            self.withdraw(index);
        }
    }

    /// Like [`withdraw`](Self::withdraw), for an attempt. If the store must remove the ticket, returns a promise that
    /// completes when it has done so. The caller waits no longer than it would have waited for the answer to the
    /// attempt.
    pub(super) fn withdraw_confirmed(&mut self, index: usize) -> Option<Unlocked> {
        let ticket = &self.state.tickets[index];
        if ticket.is_resting() {
            self.state.tickets.remove(index);
            return None;
        }
        let promise = Arc::new(Promise::new());
        let leaving = Leaving {
            unlocker: Some((ticket.log.since.after(self.queue.moment()), promise.clone())),
            ..self.unused(self.now)
        };
        self.leave(index, leaving);
        Some(promise)
    }

    /// The state of a leaving ticket whose grant, if it has one, was not used.
    fn unused(&self, park_until: Instant) -> Leaving {
        Leaving {
            park_until,
            used: None,
            held: false,
            unanswered: false,
            over: self.now.after(self.queue.lease()),
            sent: self.now,
            unlocker: None,
        }
    }

    /// Makes the ticket at `index` leave the store.
    fn leave(&mut self, index: usize, leaving: Leaving) {
        self.state.tickets[index].state = TicketState::Leaving(leaving);
        self.send(index);
    }

    /// Marks the hold of the ticket at `index` as lost, notifies its holder, and makes the store remove the ticket.
    pub(super) fn lose(&mut self, index: usize, cause: LossCause) {
        self.lose_but_keep(index, cause, Duration::ZERO);
    }

    /// Like [`lose`](Self::lose), after the store has answered that it does not know the hold.
    pub(super) fn lose_unknown(&mut self, index: usize) {
        let Some(held) = self.state.tickets[index].held() else {
            return;
        };
        // If the hold has also ended by the local clock, this call records that as the cause.
        held.hold.is_lost();
        let cause = match held.forced {
            true => LossCause::Forced,
            false => LossCause::Forgotten,
        };
        self.lose(index, cause);
    }

    /// Like [`lose`](Self::lose), but the store keeps the ticket for `park`.
    pub(super) fn lose_but_keep(&mut self, index: usize, cause: LossCause, park: Duration) {
        if let Some(held) = self.state.tickets[index].held_mut() {
            held.hold.lose(cause, self.wakes);
            held.fail_refreshers(self.wakes);
        }
        let leaving = self.unused(self.now.after(park));
        self.leave(index, leaving);
    }
}
