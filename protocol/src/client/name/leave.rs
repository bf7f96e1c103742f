//! Ends and extends holds. A leaving ticket resends its release until the store has answered.

use core::time::Duration;

use super::Step;
use super::call::{AskId, CallId, Caller};
use super::hold::Ended;
use super::input::{Effect, Failure};
use super::ticket::{Leaving, Pending, TicketState};
use crate::{Instant, LossCause, Reply, StoreError, StoreErrorKind, TOKENS_OF_A_GRANT, Ticket};

impl<C: Caller> Step<'_, '_, C> {
    pub(super) fn nothing_to_confirm(&mut self, ask: Option<AskId>) {
        if let Some(ask) = ask {
            let result = Ok(None);
            self.effects.push(Effect::Confirmed { ask, result });
        }
    }

    /// `returns` means that the holder did not use its grant. The answer is the number of units that are free
    /// afterwards; if this process hands the lock off, it is known at once.
    #[inline]
    pub(super) fn release(&mut self, hold: CallId, returns: bool, ask: Option<(AskId, Duration)>) {
        let found = self.state.find_hold(hold);
        let Some((index, held)) = found.and_then(|index| {
            let held = self.state.tickets[index].held_mut()?;
            Some((index, held))
        }) else {
            return self.nothing_to_confirm(ask.map(|ask| ask.0));
        };
        let at = (self.now, self.env.client.lease);
        let valid = held.hold.end(Ended::Released, at, self.effects) == Ended::Released;
        let park = if valid {
            held.hold.park(self.now)
        } else {
            Duration::ZERO
        };
        // Since then the store may have granted the ticket another signal, which was not used.
        let used = valid && !returns && held.hold.is_signal;
        let used = used.then_some(held.hold.token / TOKENS_OF_A_GRANT);
        self.state.tickets[index].fail_renewals(self.now, self.effects);
        let mut pending = ask.map(|(ask, time)| Pending {
            counter: 0,
            deadline: self.now.after(time),
            ask,
        });
        if valid && park.is_zero() {
            if self.local_handoff(index) {
                if let Some(pending) = pending {
                    // No unit is free, because the next holder has all of them.
                    let (ask, result) = (pending.ask, Ok(Some(0)));
                    self.effects.push(Effect::Confirmed { ask, result });
                }
                return;
            }
            if self.keep(index, &mut pending) {
                return;
            }
        }
        let leaving = Leaving {
            held: valid,
            used,
            ..self.unused(self.now.after(park))
        };
        let ticket = &mut self.state.tickets[index];
        ticket.pending.extend(pending);
        ticket.state = TicketState::Leaving(leaving);
        self.withdraw_spare();
        self.send(index);
    }

    /// Keeps the hold in the store, so that another client can adopt it.
    pub(super) fn export(&mut self, hold: CallId) {
        let Some(index) = self.state.find_hold(hold) else {
            return;
        };
        // The store may have a short lease: it may not know that the call is inside, or that a grant by message
        // arrived.
        self.end_retention(index);
        let at = (self.now, self.env.client.lease);
        let Some(held) = self.state.tickets[index].held_mut() else {
            return;
        };
        if held.hold.end(Ended::Released, at, self.effects) == Ended::Released {
            self.state
                .tickets
                .remove(index)
                .fail_renewals(self.now, self.effects);
        }
    }

    /// Asks the store to renew the lease now.
    pub(super) fn renew(&mut self, hold: CallId, ask: Option<AskId>, units: Option<u32>) {
        let Some(index) = self.state.find_hold(hold) else {
            return self.nothing_to_confirm(ask);
        };
        if let (Some(held), Some(units)) = (self.state.tickets[index].held_mut(), units) {
            held.hold.keep_units(units);
        }
        self.send(index);
        if let Some(ask) = ask {
            let deadline = self.now.after(self.env.client.store_timeout);
            self.state.tickets[index].expect(ask, deadline);
        }
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

    /// The answer comes no later than the attempt would have been answered. Returns the question if there is nothing to
    /// answer.
    pub(super) fn withdraw_attempt(&mut self, index: usize, ask: Option<AskId>) -> Option<AskId> {
        let until = self.state.tickets[index]
            .log
            .since
            .after(self.env.client.moment(self.limits));
        let ticket = &mut self.state.tickets[index];
        let unasked = match ask {
            Some(ask) if !ticket.is_resting() => {
                ticket.expect(ask, until);
                None
            }
            ask => ask,
        };
        self.withdraw(index);
        unasked
    }

    fn unused(&self, park_until: Instant) -> Leaving {
        Leaving {
            park_until,
            over: self.now.after(self.env.client.lease),
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
        let cause = match held.forced {
            true => LossCause::Forced,
            false => LossCause::Forgotten,
        };
        self.lose(index, cause, Duration::ZERO);
    }

    /// `park` is how long the store keeps the ticket. If the hold has ended by the local clock, that is the cause.
    pub(super) fn lose(&mut self, index: usize, cause: LossCause, park: Duration) {
        let at = (self.now, self.env.client.lease);
        let ticket = &mut self.state.tickets[index];
        if let Some(held) = ticket.held_mut() {
            held.hold.end(Ended::Lost(cause), at, self.effects);
        }
        ticket.fail_renewals(self.now, self.effects);
        self.leave(index, self.unused(self.now.after(park)));
    }

    /// The client ends: releases all holds.
    pub(super) fn close(&mut self, cause: LossCause) {
        self.release_kept();
        for index in 0..self.state.tickets.len() {
            if let Some(held) = self.state.tickets[index].held() {
                let valid = held.hold.is_valid(self.now);
                let park = valid.then(|| held.hold.park(self.now));
                self.lose(index, cause, park.unwrap_or_default());
            }
        }
    }

    pub(super) fn answer_release(&mut self, id: Ticket, result: Result<Reply, StoreError>) {
        let Some(index) = self.state.find(id) else {
            return;
        };
        let TicketState::Leaving(leaving) = &self.state.tickets[index].state else {
            return;
        };
        let (held, unanswered) = (leaving.held, leaving.unanswered);
        match result {
            Ok(Reply::Released { free }) => self.left(index, held.then_some(free)),
            // An earlier copy of the release may have removed the ticket, so the local clock decides whether the lock
            // was held.
            Ok(Reply::Gone) if unanswered => self.left(index, held.then_some(0)),
            Ok(_) => self.left(index, None),
            Err(error) => self.release_failed(index, error),
        }
    }

    fn left(&mut self, index: usize, answer: Option<u64>) {
        let mut ticket = self.state.tickets.remove(index);
        ticket.confirm(|_| true, || Ok(answer), self.effects);
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
                let is_over = self.now >= leaving.over || self.env.view.is_over;
                ticket.again = self.now.after(self.limits.retry_foreign);
                let error = Failure::Refused(error);
                ticket.confirm(|_| true, || Err(error.clone()), self.effects);
                if is_over {
                    self.state.tickets.remove(index);
                }
            }
            _ => {
                ticket.again = self.now.after(self.limits.retry);
                self.effects.push(Effect::ReleaseFailed { error });
            }
        }
    }
}
