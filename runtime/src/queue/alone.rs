//! The short ways: what is free is taken, and what nobody waits for is released, where the store answers at once and
//! nobody else has to do with the name.
//!
//! They leave the same behind as the long ways, or nothing: then the caller goes the long way.

use std::sync::Arc;
use std::time::Duration;

use super::ask::Granted;
use super::local::{Local, State};
use super::ticket::{Held, Sendings};
use super::waiter::Want;
use crate::clock::Instant;
use crate::lease::Hold;
use crate::store::Seat;

impl Local {
    /// Takes what nobody here has to do with, whether or not the caller would wait for it.
    #[inline]
    pub(super) fn enter_alone(
        self: &Arc<Self>,
        state: &mut State,
        want: &Want,
        now: Instant,
    ) -> Option<Arc<Hold>> {
        if !state.is_idle() || self.member().check().is_err() {
            return None;
        }
        let lease = self.lease_of(want.terms);
        let mut sendings = Sendings::new(now);
        let counter = sendings.next(now);
        let seat = Seat {
            ticket: sendings.ticket,
            counter,
            share: &want.share,
            hold: lease,
            place: self.lease(),
            meta: &want.meta,
        };
        let token = self.member().store().grant_alone(self.name(), &seat, now)?;
        let granted = Granted {
            token,
            counter,
            valid: now.validity(lease),
            provisional: false,
            signal: None,
        };
        let hold = self.new_hold(want, sendings.ticket, &granted, (Duration::ZERO, 1), now);
        let renew = self.next_beat_after(now);
        self.arm(state, renew.min(hold.deadline()));
        state.held.push(Held {
            sendings,
            hold: hold.clone(),
            renew,
            leased: now.after(lease),
            granted: counter,
            since: now,
            handed: 0,
            owned: !want.share.owner.is_empty(),
            refreshers: Vec::new(),
        });
        Some(hold)
    }

    /// Releases `hold`, which has just ended, if nobody here has to do with anything else.
    #[inline]
    pub(super) fn leave_alone(&self, state: &mut State, hold: &Arc<Hold>, now: Instant) -> bool {
        let [held] = &*state.held else {
            return false;
        };
        let plain = held.refreshers.is_empty() && !held.sendings.late;
        let kept = !hold.park(now).is_zero();
        if !Arc::ptr_eq(&held.hold, hold) || !plain || kept || !state.is_idle_beside_held() {
            return false;
        }
        let ticket = held.sendings.ticket;
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
