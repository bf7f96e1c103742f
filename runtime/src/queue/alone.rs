//! The short ways: what is free is taken, and what nobody waits for is released, where the store answers at once and
//! nobody else has to do with the name.
//!
//! They leave the same behind as the long ways, or nothing: then the caller goes the long way. A store that nobody else
//! uses lends the name, and hears of what was granted and released when the next step goes the long way.

use std::sync::Arc;
use std::time::Duration;

use super::ask::Granted;
use super::hold::Hold;
use super::lock_queue::{LockQueue, State};
use super::ticket::{Held, SendLog};
use super::waiter::Want;
use crate::clock::Instant;
use crate::store::{Seat, Share};

impl LockQueue {
    /// As [`enter_alone`](Self::enter_alone), for a caller that can go the long way; `None` also if the name was retired.
    #[inline]
    pub(crate) fn take_alone(self: &Arc<Self>, want: &Want) -> Option<Arc<Hold>> {
        let mut state = self.open().filter(|state| state.is_idle())?;
        self.enter_alone(&mut state, want, Instant::now())
    }

    /// Takes what nobody here has to do with, whether or not the caller would wait for it.
    #[inline]
    pub(super) fn enter_alone(
        self: &Arc<Self>,
        state: &mut State,
        want: &Want,
        now: Instant,
    ) -> Option<Arc<Hold>> {
        if !state.is_idle() || !self.member().is_open() {
            return None;
        }
        let lease = self.lease_of(want.terms);
        let mut log = SendLog::new(now);
        let counter = log.next(now);
        let seat = Seat {
            ticket: log.ticket,
            counter,
            share: &want.share,
            hold: lease,
            place: self.lease(),
            meta: &want.meta,
        };
        let token = self.grant_alone(state, &seat, now)?;
        let granted = Granted {
            token,
            counter,
            valid: self.validity(lease, now),
            provisional: false,
            signal: None,
        };
        let hold = self.new_hold(want, log.ticket, &granted, (Duration::ZERO, 1), now);
        let renew = self.next_beat_after(now);
        self.arm(state, renew.min(hold.deadline()));
        state.held.push(Held {
            log,
            hold: hold.clone(),
            renew,
            leased: now.after(lease),
            granted: counter,
            since: now,
            handed: 0,
            owned: !want.share.owner.is_empty(),
            refreshers: Vec::new(),
            bounds: Vec::new(),
        });
        Some(hold)
    }

    #[inline]
    fn grant_alone(&self, state: &mut State, seat: &Seat<'_>, now: Instant) -> Option<u64> {
        let store = self.member().store();
        if !seat.is_plain() {
            self.end_loan(state);
            return store.grant_alone(self.name(), seat, now);
        }
        if state.loan.is_none() {
            state.loan = store.lend(self.name());
        }
        match &mut state.loan {
            Some(loan) => Some(loan.grant(now)),
            None => store.grant_alone(self.name(), seat, now),
        }
    }

    /// Tells the store what became of a name that it has lent: before it is asked for anything.
    #[inline]
    pub(super) fn end_loan(&self, state: &mut State) {
        if state.loan.is_some() {
            self.give_name_back(state);
        }
    }

    #[cold]
    fn give_name_back(&self, state: &mut State) {
        let Some(loan) = state.loan.take() else {
            return;
        };
        let store = self.member().store();
        let Some(held) = state.held.first() else {
            return store.take_back(self.name(), &loan, None);
        };
        let grant = held.hold.grant();
        let seat = Seat {
            ticket: grant.ticket,
            counter: held.granted,
            share: &Share::of(grant.units, grant.capacity),
            hold: held.since.until(held.leased),
            place: self.lease(),
            meta: &grant.meta,
        };
        store.take_back(self.name(), &loan, Some(&seat));
    }

    /// Releases `hold`, which has just ended, if nobody here has to do with anything else.
    #[inline]
    pub(super) fn leave_alone(&self, state: &mut State, hold: &Arc<Hold>, now: Instant) -> bool {
        let [held] = &*state.held else {
            return false;
        };
        let plain = held.refreshers.is_empty() && !held.log.late;
        let kept = !hold.park(now).is_zero();
        if !Arc::ptr_eq(&held.hold, hold) || !plain || kept || !state.is_idle_beside_held() {
            return false;
        }
        if let Some(loan) = &mut state.loan {
            // A lease that is over is the store's matter.
            let valid = now < held.leased;
            if valid {
                loan.release(now);
                state.held.clear();
            }
            return valid;
        }
        let ticket = held.log.ticket;
        let free = self
            .member()
            .store()
            .release_alone(self.name(), ticket, now);
        if free.is_some() {
            state.held.clear();
        }
        free.is_some()
    }
}
