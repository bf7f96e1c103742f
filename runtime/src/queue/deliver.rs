//! A grant arrives and is delivered to its waiter.

use std::sync::Arc;
use std::time::Duration;

use super::hold::{Grant, Hold, Rare};
use super::lock_queue::Transition;
use super::ticket::{Granted, Held, TicketState};
use super::waiter::Waiter;
use crate::clock::Instant;
use crate::observe::spans_are_on;
use crate::store::Ticket as TicketId;
use crate::store::limits::TOKENS_OF_A_GRANT;

/// The delay before this process claims a grant that came as a message. Most bodies end sooner, and then only the
/// release is sent. The store waits two seconds for the claim.
const CLAIM_WITHIN: Duration = Duration::from_millis(20);

impl Transition<'_> {
    /// Delivers the store's grant of the waiting ticket at `index` to the ticket's waiter, or to the first waiter that
    /// the ticket may serve. If there is no such waiter, withdraws the ticket.
    pub(super) fn granted(&mut self, index: usize, granted: &Granted) {
        let ticket = &mut self.state.tickets[index];
        let (id, attempts) = (ticket.id(), ticket.log.count());
        while let Some(index) = self.state.find(id)
            && let Some(waiter) = self.take_waiter_of(index)
        {
            if self.deliver(id, &waiter, granted, attempts) {
                return;
            }
        }
        self.withdraw_by_id(id);
    }

    /// When to send the first touch of a new hold that cannot wait for the common renewal: a claim, or the renewal of a
    /// short lease. `valid` is the end of the grant.
    pub(super) fn claim_at(&self, valid: Instant) -> Instant {
        self.now.after(CLAIM_WITHIN.min(self.now.until(valid) / 4))
    }

    /// Delivers the grant of ticket `id` to `waiter`. Returns `false` if the waiter has left.
    pub(super) fn deliver(
        &mut self,
        id: TicketId,
        waiter: &Arc<Waiter>,
        granted: &Granted,
        attempts: u32,
    ) -> bool {
        let want = &waiter.want;
        let ticket = self.state.find(id).map(|index| &self.state.tickets[index]);
        let holder = ticket.and_then(|ticket| ticket.waiting()?.holder.as_ref());
        let behind = holder.filter(|_| spans_are_on()).map(|holder| &holder.meta);
        let lasts = |expire| expire <= granted.lease;
        let grant = Grant {
            ticket: id,
            token: granted.token.saturating_mul(TOKENS_OF_A_GRANT),
            units: want.share.units,
            capacity: want.share.capacity,
            takes: want.share.takes,
            valid: granted.valid,
            whole: !granted.provisional && want.terms.expire.is_some_and(lasts),
            waited: waiter.waited(self.now),
            attempts: want.past.attempts.saturating_add(attempts),
            meta: want.meta.clone(),
            label: want.label,
            local: false,
            home: want.by.home,
            rare: Rare::of(granted.signal.as_ref(), want.owner.as_ref(), behind),
        };
        let hold = Hold::new(self.queue.clone(), grant, want.terms, self.now);
        self.share_with_owner(&hold);
        if !waiter.obtain(hold.clone(), self.wakes) && hold.unshare() {
            return false;
        }
        let (claim, renew) = (self.claim_at(granted.valid), self.next_renewal());
        let wanted = self.queue.lease_of(want.terms);
        if let Some(index) = self.state.find(id) {
            let ticket = &mut self.state.tickets[index];
            // The ticket may have been requested for an earlier waiter, with a shorter lease.
            let cut = ticket.lease < wanted;
            ticket.again = if granted.provisional || cut {
                claim
            } else {
                renew
            };
            ticket.state = TicketState::Held(Held {
                owned: !want.share.owner.is_empty(),
                ..Held::new(hold, granted.counter, ticket.lease, self.now)
            });
        }
        true
    }
}
