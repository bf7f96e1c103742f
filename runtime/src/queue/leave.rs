//! A hold ends or is prolonged; what must leave the store is sent until the store has answered.

use std::sync::Arc;
use std::time::Duration;

use super::due::BRIEF;
use super::hold::Hold;
use super::lock_queue::{LockQueue, Transition};
use super::ticket::{Confirmed, Held, Leaving, Refresher, SendLog, Unlocked, Unlocker};
use crate::clock::Instant;
use crate::config::SHORTEST_EXPIRE;
use crate::error::LockError;
use crate::lease::{Bounds, Terms};
use crate::store::{Op, Ticket};
use crate::wait::{Promise, Wakes};

impl LockQueue {
    /// The last guard is gone. Does not wait for the store.
    pub(crate) fn release(self: &Arc<Self>, hold: &Arc<Hold>) {
        self.end(hold, false);
    }

    /// As [`release`](Self::release), for one that did nothing with what it got: a signal goes to the next.
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
        let (now, mut wakes) = (Instant::now(), Wakes::default());
        let valid = hold.end(now, &mut wakes);
        if self.leave_alone(&mut state, hold, now) {
            drop(state);
            wakes.wake();
            return;
        }
        self.go_on(state, now, wakes, |step| {
            step.release(hold, valid, returns, None);
        });
    }

    /// Releases and says what can be had now, if the lock was still held. Wait on the promise; the store answers, unless
    /// the lock is handed on here.
    pub(crate) fn unlock(self: &Arc<Self>, hold: &Arc<Hold>) -> Unlocked {
        self.end_confirmed(hold, false, self.member().settings().patience)
    }

    /// As [`give_back`](Self::give_back), with a promise to wait on, which is kept within a [`moment`](Self::moment).
    pub(crate) fn give_back_confirmed(self: &Arc<Self>, hold: &Arc<Hold>) -> Unlocked {
        self.end_confirmed(hold, true, self.moment())
    }

    fn end_confirmed(
        self: &Arc<Self>,
        hold: &Arc<Hold>,
        returns: bool,
        patience: Duration,
    ) -> Unlocked {
        let promise = Arc::new(Promise::new());
        let forked = self.member().is_forked();
        if forked
            || self
                .step(|step| {
                    let valid = hold.end(step.now, step.wakes);
                    let unlocker = (step.now.after(patience), promise.clone());
                    step.release(hold, valid, returns, Some(unlocker));
                })
                .is_none()
        {
            let _ = promise.complete(Ok(None), &mut Wakes::default());
        }
        promise
    }

    /// How long somebody is kept waiting for an answer of the store who does not want to wait.
    pub(super) fn moment(&self) -> Duration {
        self.member().settings().patience.min(BRIEF)
    }

    /// The hold ends here, but not in the store: another member will take it over. `false` if it is over already.
    pub(crate) fn hand_over(self: &Arc<Self>, hold: &Arc<Hold>) -> bool {
        if self.member().is_forked() {
            return false;
        }
        self.step(|step| {
            let index = step.find_hold(hold)?;
            if !hold.end(step.now, step.wakes) {
                return None;
            }
            let mut held = step.state.held.swap_remove(index);
            held.fail_refreshers(step);
            Some(())
        })
        .flatten()
        .is_some()
    }

    /// Asks the store to renew the lease now. `None` if it is lost or released.
    pub(crate) fn renew(self: &Arc<Self>, hold: &Arc<Hold>) -> Option<Confirmed> {
        if self.member().is_forked() {
            return None;
        }
        let promise = Arc::new(Promise::new());
        self.step(|step| {
            let index = step.find_hold(hold)?;
            let mut held = step.state.held.swap_remove(index);
            let counter = step.touch_held(&mut held);
            let deadline = step.now.after(self.member().settings().patience);
            held.refreshers.push(Refresher {
                counter,
                deadline,
                promise: promise.clone(),
            });
            step.state.held.push(held);
            Some(promise)
        })?
    }

    /// Gives units back and keeps `units`; the store is told. `None` if it is lost or released.
    pub(crate) fn downgrade(self: &Arc<Self>, hold: &Arc<Hold>, units: u32) -> Option<Confirmed> {
        hold.downgrade(units);
        self.renew(hold)
    }

    /// `expire` counts again from now; the store is told. `None` if it is lost or released.
    pub(crate) fn refresh(
        self: &Arc<Self>,
        hold: &Arc<Hold>,
        expire: Duration,
    ) -> Result<Option<Confirmed>, LockError> {
        check_refresh(expire)?;
        if !hold.is_valid() {
            return Ok(None);
        }
        hold.restart(Some(expire), Instant::now());
        Ok(self.renew(hold))
    }

    /// The call that has `hold` begins now, or waits for more: `expire` counts again from now.
    pub(crate) fn restart(self: &Arc<Self>, hold: &Arc<Hold>, terms: Terms) {
        let now = Instant::now();
        hold.restart(terms.expire, now);
        hold.keep(terms.at_least, now);
        // The lease was cut to what was left of `expire`: the store must hear of it before the next beat.
        if hold.valid() < self.next_beat_after(now).min(hold.expires()) {
            self.renew(hold);
        } else if hold.expires() < self.next_beat_after(now) {
            // The engine must look here before that, to tell the loss.
            self.step(|_| {});
        }
    }

    /// Whoever listens to `hold` is woken when one of `bounds` is over, too.
    pub(crate) fn watch(self: &Arc<Self>, hold: &Arc<Hold>, bounds: &Bounds) {
        if self.member().is_forked() {
            return;
        }
        self.step(|step| {
            if let Some(index) = step.find_hold(hold) {
                let watched = &mut step.state.held[index].bounds;
                watched.retain(|known| known.strong_count() > 0);
                for bound in bounds.all().iter().map(Arc::downgrade) {
                    if !watched.iter().any(|known| known.ptr_eq(&bound)) {
                        watched.push(bound);
                    }
                }
            }
        });
    }
}

/// Whether somebody can hold for so long.
pub(crate) fn check_refresh(expire: Duration) -> Result<(), LockError> {
    if expire < SHORTEST_EXPIRE {
        return Err(LockError::InvalidOption {
            option: "refresh",
            reason: "shorter than 10 ms: it would be over before it could be used",
        });
    }
    Ok(())
}

impl Transition<'_> {
    pub(super) fn find_held(&self, ticket: Ticket) -> Option<usize> {
        let held = &self.state.held;
        held.iter()
            .position(|held| held.hold.grant().ticket == ticket)
    }

    /// Where `hold` is; its ticket may have gone on to the next waiter.
    fn find_hold(&self, hold: &Arc<Hold>) -> Option<usize> {
        let held = &self.state.held;
        held.iter().position(|held| Arc::ptr_eq(&held.hold, hold))
    }

    /// `hold` has just ended; `valid`: it was held until then.
    fn release(
        &mut self,
        hold: &Arc<Hold>,
        valid: bool,
        returns: bool,
        unlocker: Option<Unlocker>,
    ) {
        let Some(index) = self.find_hold(hold) else {
            // It was lost or released before, and the store knows.
            if let Some((_, unlocker)) = unlocker {
                let _ = unlocker.complete(Ok(None), self.wakes);
            }
            return;
        };
        for refresher in std::mem::take(&mut self.state.held[index].refreshers) {
            refresher.fail(hold, self.wakes);
        }
        let park_until = if valid {
            self.now.after(hold.park(self.now))
        } else {
            self.now
        };
        if valid && park_until == self.now && self.pass_on(index, hold) {
            // The lease says that it was held, and now the next one has all of it.
            if let Some((_, unlocker)) = unlocker {
                let _ = unlocker.complete(Ok(Some(0)), self.wakes);
            }
            return;
        }
        let held = self.state.held.swap_remove(index);
        self.withdraw_spare();
        let mut leaving = self.leaving(&held.log, park_until);
        leaving.held = valid;
        // The ticket may have been passed on and granted anew meanwhile: that signal nobody used.
        let used = valid && !returns && hold.grant().signal.is_some();
        leaving.used = used.then(|| hold.grant().token / 1024);
        leaving.unlocker = unlocker;
        self.leave(leaving);
    }

    /// A ticket that the store has not kept: it matters only if a copy of its acquire may still arrive.
    pub(super) fn forget(&mut self, log: &SendLog) {
        if log.late {
            self.withdraw(log);
        }
    }

    /// A ticket that nobody wants any more leaves the store, whatever it is there.
    pub(super) fn withdraw(&mut self, log: &SendLog) {
        self.leave(self.leaving(log, self.now));
    }

    /// As [`withdraw`](Self::withdraw), for an attempt whose caller waits until it is out of the store: no longer than the
    /// caller would wait for the answer to the attempt.
    pub(super) fn withdraw_confirmed(&mut self, log: &SendLog) -> Unlocked {
        let promise = Arc::new(Promise::new());
        let mut leaving = self.leaving(log, self.now);
        leaving.unlocker = Some((log.since.after(self.local.moment()), promise.clone()));
        self.leave(leaving);
        promise
    }

    /// How a ticket leaves that nobody used.
    fn leaving(&self, log: &SendLog, park_until: Instant) -> Leaving {
        Leaving {
            ticket: log.ticket,
            park_until,
            tomb: log.late,
            used: None,
            held: false,
            unanswered: false,
            again: Instant::NEVER,
            over: self.now.after(self.local.lease()),
            unlocker: None,
        }
    }

    fn leave(&mut self, mut leaving: Leaving) {
        self.send_leaving(&mut leaving);
        self.state.leaving.push(leaving);
    }

    pub(super) fn send_leaving(&mut self, leaving: &mut Leaving) {
        leaving.again = Instant::NEVER;
        self.submit(Op::Release {
            ticket: leaving.ticket,
            park: self.now.until(leaving.park_until),
            tomb: leaving.tomb,
            used: leaving.used.unwrap_or(0),
        });
    }

    /// Renews the lease of a holder, or claims a grant.
    pub(super) fn touch_held(&mut self, held: &mut Held) -> u64 {
        let lease = self.local.lease();
        let hold = lease
            .min(held.hold.expires_in(self.now))
            .max(self.now.until(held.leased))
            .max(Duration::from_millis(1));
        held.leased = self.now.after(hold);
        let counter = held.log.next(self.now);
        held.renew = self.next_beat();
        self.submit(Op::Touch {
            ticket: held.log.ticket,
            counter,
            units: held.hold.given_back().unwrap_or(0),
            hold,
            place: lease,
        });
        counter
    }

    /// The lock is lost: its holder is told, and the store is told to forget the ticket.
    pub(super) fn lose(&mut self, held: Held) {
        self.lose_but_keep(held, Duration::ZERO);
    }

    /// As [`lose`](Self::lose), but the store keeps the ticket for `park`.
    pub(super) fn lose_but_keep(&mut self, mut held: Held, park: Duration) {
        held.hold.lose(self.wakes);
        held.fail_refreshers(self);
        self.leave(self.leaving(&held.log, self.now.after(park)));
    }
}

impl Held {
    /// A renewal was answered: whoever asked for it or an earlier one may go on.
    pub(super) fn refreshed(&mut self, counter: u64, step: &mut Transition<'_>) {
        for done in self
            .refreshers
            .extract_if(.., |asked| asked.counter <= counter)
        {
            let _ = done.promise.complete(Ok(()), step.wakes);
        }
    }

    fn fail_refreshers(&mut self, step: &mut Transition<'_>) {
        for refresher in self.refreshers.drain(..) {
            refresher.fail(&self.hold, step.wakes);
        }
    }
}

impl Refresher {
    fn fail(self, hold: &Hold, wakes: &mut Wakes) {
        let _ = self.promise.complete(Err(hold.lost_error()), wakes);
    }
}
