//! The fast path: an uncontended name in a store that only this client uses.
//!
//! The store lends such a name to the client. During the loan, this process grants and releases the name by itself,
//! without a ticket in the store. The store learns the result before it gets another request for the name. The fast
//! path either has the same effect as the general path, or does nothing. If it does nothing, the caller takes the
//! general path.

use std::sync::Arc;
use std::time::Duration;

use super::deliver::How;
use super::hold::Hold;
use super::lock_queue::{LockQueue, State};
use super::send_log::SendLog;
use super::ticket::{Granted, Held, Ticket, TicketState};
use super::waiter::Want;
use crate::clock::Instant;
use crate::store::{Mode, Op, Share};

impl LockQueue {
    /// Takes the name if it is free. `None`: the name is not free, or was retired, and the caller enters the queue.
    #[inline]
    pub(crate) fn take_uncontended(self: &Arc<Self>, want: &Want) -> Option<Arc<Hold>> {
        let mut state = self.open()?;
        self.take_lent(&mut state, want, Instant::now())
    }

    /// Takes the name if it is idle and the store lends it, whether or not the caller would wait for it.
    #[inline]
    pub(super) fn take_lent(
        self: &Arc<Self>,
        state: &mut State,
        want: &Want,
        now: Instant,
    ) -> Option<Arc<Hold>> {
        let share = &want.share;
        let is_plain = share.fits() && !share.takes && share.owner.is_empty();
        if !is_plain || !state.is_idle() || !self.member().is_open() {
            return None;
        }
        if state.loan.is_none() {
            state.loan = self.member().store().lend(self.name());
        }
        let token = state.loan.as_mut()?.grant(now);
        let lease = self.lease_of(want.terms);
        let mut log = SendLog::new(now);
        let granted = Granted {
            token,
            counter: log.next(now),
            valid: self.validity(lease, now),
            provisional: false,
            lease,
            signal: None,
        };
        let how = How {
            waited: Duration::ZERO,
            attempts: 1,
            local: true,
            behind: None,
        };
        let hold = self.new_hold(want, log.id, &granted, &how, now);
        let renew = self.next_renewal_after(now);
        self.arm(state, renew.min(hold.deadline()));
        let held = Held::new(hold.clone(), granted.counter, lease, now);
        state.tickets.push(Ticket {
            log,
            lease,
            again: renew,
            state: TicketState::Held(held),
        });
        Some(hold)
    }

    /// Releases `hold`, which has just ended, if the name is lent and nothing else is in progress for it here.
    #[inline]
    pub(super) fn release_lent(&self, state: &mut State, hold: &Arc<Hold>, now: Instant) -> bool {
        let State {
            loan: Some(loan),
            tickets,
            ..
        } = state
        else {
            return false;
        };
        let [ticket] = &**tickets else {
            return false;
        };
        let Some(held) = ticket.held() else {
            return false;
        };
        let is_plain = held.refreshers.is_empty() && hold.park(now).is_zero();
        // If the lease has ended, the store must handle the release.
        if !Arc::ptr_eq(&held.hold, hold) || !is_plain || now >= held.leased {
            return false;
        }
        loan.release(now);
        tickets.clear();
        true
    }

    /// Returns a lent name to the store with its current state, before any request for it.
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
        let held = state.tickets.first().and_then(Ticket::held);
        let held = held.map(|held| {
            let grant = held.hold.grant();
            Op::Acquire {
                ticket: grant.ticket,
                counter: held.granted,
                share: Share::of(grant.units, grant.capacity),
                hold: held.since.until(held.leased),
                place: self.lease(),
                mode: Mode::Try,
                meta: grant.meta.clone(),
            }
        });
        let store = self.member().store();
        store.take_back(self.name(), &loan, held.as_ref());
    }
}
