//! How many tickets wait in the store, and which local waiter each of them serves: one ticket for the waiter that is
//! first when the grant comes, or one for each waiter that could hold together with it (readers).

use alloc::vec::Vec;

use super::call::Caller;
use super::ticket::{Ticket, TicketState, Waiting};
use super::{State, Step};
use crate::Instant;

/// Does not apply to waiters for signals, because `notify_all` must reach all of them.
const TOGETHER: usize = 64;

impl<C: Caller> Step<'_, '_, C> {
    #[inline]
    pub(super) fn match_tickets(&mut self) {
        let wanted = self.wanted();
        if wanted == 0 && self.keeps_spare() {
            let waiting = self.state.tickets.iter_mut();
            for spare in waiting.filter_map(Ticket::waiting_mut) {
                spare.waiter = None;
            }
            return;
        }
        let State {
            waiters, tickets, ..
        } = &mut *self.state;
        let first = waiters.iter().take(wanted);
        let waiting = tickets.iter().filter(|ticket| ticket.waiting().is_some());
        let count = waiting.clone().count();
        let pairs = first.clone().zip(waiting);
        let matching = pairs.take_while(|(waiter, ticket)| ticket.may_serve(waiter));
        let matching = matching.count();
        if matching < count {
            return self.match_anew(wanted);
        }
        let waiting = tickets.iter_mut().filter_map(Ticket::waiting_mut);
        for (waiter, ticket) in first.zip(waiting) {
            ticket.is_for(waiter);
        }
        for index in matching..wanted {
            self.begin_waiting(index, self.now);
        }
    }

    #[inline]
    fn begin_waiting(&mut self, waiter: usize, unanswered_since: Instant) {
        let waiter = &self.state.waiters[waiter];
        let lease = self.env.client.lease_of(waiter.want().tenure.expire);
        let retains = self.may_retain(waiter);
        let waiting = Waiting {
            share: waiter.want().share,
            meta: waiter.want().meta.clone(),
            waiter: Some(waiter.id()),
            unanswered_since,
            queued: false,
            holder: None,
            place: None,
            stale: 0,
            told: 0,
        };
        self.begin(lease, retains, TicketState::Waiting(waiting));
    }

    /// Reuses the tickets that may serve the first waiters, and withdraws the others.
    fn match_anew(&mut self, wanted: usize) {
        let waiting = |ticket: &mut Ticket<C>| ticket.waiting().is_some();
        let tickets = self.state.tickets.extract_if(.., waiting);
        let mut spare: Vec<_> = tickets.map(Some).collect();
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        let mut next = 0;
        // Usually one of many equal waiters came or left, and the other tickets are still in order.
        for (index, waiter) in self.state.waiters.iter().take(wanted).enumerate() {
            let mut order = (next..spare.len()).chain(0..next);
            let found = order.find_map(|at| {
                let ticket = spare[at].take_if(|ticket| ticket.may_serve(waiter))?;
                Some((at, ticket))
            });
            match found {
                Some((at, ticket)) => {
                    next = at + 1;
                    kept.push((ticket, index));
                }
                None => missing.push(index),
            }
        }
        let mut spare: Vec<_> = spare.into_iter().flatten().collect();
        let mut unanswered = Vec::new();
        for ticket in &mut spare {
            self.keep_the_better_place(ticket, &mut kept);
            if let Some(waiting) = ticket.waiting().filter(|waiting| !waiting.queued) {
                unanswered.push((waiting.share, waiting.unanswered_since));
            }
        }
        for (mut ticket, index) in kept {
            if let Some(waiting) = ticket.waiting_mut() {
                waiting.is_for(&self.state.waiters[index]);
            }
            self.state.tickets.push(ticket);
        }
        for ticket in spare {
            self.state.tickets.push(ticket);
            self.withdraw(self.state.tickets.len() - 1);
        }
        for index in missing {
            let share = self.state.waiters[index].want().share;
            let since = unanswered.iter().find(|before| before.0 == share);
            let since = since.map_or(self.now, |before| before.1);
            self.begin_waiting(index, since);
        }
    }

    /// If `spare` has a place in the store's queue, swaps it with a kept ticket that has no place.
    fn keep_the_better_place(&self, spare: &mut Ticket<C>, kept: &mut [(Ticket<C>, usize)]) {
        let waiters = &self.state.waiters;
        let lesser = |(kept, index): &&mut (Ticket<C>, usize)| {
            !kept.is_queued() && spare.may_serve(&waiters[*index])
        };
        if spare.is_queued()
            && let Some((kept, _)) = kept.iter_mut().find(lesser)
        {
            core::mem::swap(kept, spare);
        }
    }

    /// How many of the first waiters should have a ticket. At least one, if there are waiters.
    #[inline]
    fn wanted(&self) -> usize {
        let Some(first) = self.state.waiters.front() else {
            return 0;
        };
        let capacity = first.want().share.capacity;
        let mut room = capacity;
        let fits = |waiter: &&C| {
            let share = waiter.want().share;
            let left = room.checked_sub(share.units);
            room = left.unwrap_or(0);
            share.capacity == capacity && (capacity == 0 || left.is_some())
        };
        let limit = if capacity == 0 { usize::MAX } else { TOGETHER };
        // A request for more than the capacity gets a ticket, so that the store refuses it.
        let together = self.state.waiters.iter().take_while(fits).take(limit);
        together.count().max(1)
    }

    #[inline]
    pub(super) fn take_waiter_of(&mut self, index: usize) -> Option<C> {
        let ticket = &self.state.tickets[index];
        if let Some(attempt) = ticket.attempting() {
            return Some(attempt.caller.clone());
        }
        let own = self.state.waiter_of(ticket)?;
        self.state.waiters.remove(own)
    }
}

impl<C: Caller> State<C> {
    /// The ticket's own waiter or, if that one has left, the first waiter that the ticket may serve.
    #[inline]
    pub(super) fn waiter_of(&self, ticket: &Ticket<C>) -> Option<usize> {
        let own = ticket.waiting()?.waiter;
        let own = own.and_then(|own| self.find_waiter(own));
        let own = own.filter(|own| ticket.may_serve(&self.waiters[*own]));
        own.or_else(|| {
            let mut waiters = self.waiters.iter();
            waiters.position(|waiter| ticket.may_serve(waiter))
        })
    }
}

impl Waiting {
    #[inline]
    fn is_for<C: Caller>(&mut self, waiter: &C) {
        if self.waiter != Some(waiter.id()) {
            self.waiter = Some(waiter.id());
            self.meta = waiter.want().meta.clone();
            self.told = 0;
        }
    }
}
