//! How many tickets wait in the store, and which local waiter each of them serves: one ticket for the waiter that is
//! first when the grant comes, or one for each waiter that could hold together with it (readers).

use std::sync::Arc;

use super::lock_queue::{State, Transition};
use super::ticket::{Ticket, TicketState, Waiting};
use super::waiter::Waiter;
use crate::base::clock::Instant;

/// Does not apply to waiters for signals, because `notify_all` must reach all of them.
const TOGETHER: usize = 64;

impl Transition<'_> {
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
            let first = first.cloned().collect();
            return self.match_anew(first);
        }
        let waiting = tickets.iter_mut().filter_map(Ticket::waiting_mut);
        for (waiter, ticket) in first.zip(waiting) {
            ticket.is_for(waiter);
        }
        for index in matching..wanted {
            let waiter = self.state.waiters[index].clone();
            self.begin_waiting(waiter, self.now);
        }
    }

    fn begin_waiting(&mut self, waiter: Arc<Waiter>, unanswered_since: Instant) {
        let lease = self.queue.lease_of(waiter.want.terms);
        let waiting = Waiting {
            share: waiter.want.share,
            waiter: Some(waiter),
            unanswered_since,
            queued: false,
            holder: None,
            place: None,
            stale: 0,
        };
        self.begin(lease, TicketState::Waiting(waiting));
    }

    /// Reuses the tickets that may serve the waiters in `first`, and withdraws the others.
    fn match_anew(&mut self, first: Vec<Arc<Waiter>>) {
        let waiting = |ticket: &mut Ticket| ticket.waiting().is_some();
        let tickets = self.state.tickets.extract_if(.., waiting);
        let mut spare: Vec<_> = tickets.map(Some).collect();
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        let mut next = 0;
        // Usually one of many equal waiters came or left, and the other tickets are still in order.
        for waiter in first {
            let mut order = (next..spare.len()).chain(0..next);
            let found = order.find_map(|index| {
                let ticket = spare[index].take_if(|ticket| ticket.may_serve(&waiter))?;
                Some((index, ticket))
            });
            match found {
                Some((index, ticket)) => {
                    next = index + 1;
                    kept.push((ticket, waiter));
                }
                None => missing.push(waiter),
            }
        }
        let mut spare: Vec<_> = spare.into_iter().flatten().collect();
        let mut unanswered = Vec::new();
        for ticket in &mut spare {
            keep_the_better_place(ticket, &mut kept);
            if let Some(waiting) = ticket.waiting().filter(|waiting| !waiting.queued) {
                unanswered.push((waiting.share, waiting.unanswered_since));
            }
        }
        for (mut ticket, waiter) in kept {
            if let Some(waiting) = ticket.waiting_mut() {
                waiting.is_for(&waiter);
            }
            self.state.tickets.push(ticket);
        }
        for ticket in spare {
            self.state.tickets.push(ticket);
            self.withdraw(self.state.tickets.len() - 1);
        }
        for waiter in missing {
            let share = &waiter.want.share;
            let since = unanswered.iter().find(|before| before.0 == *share);
            let since = since.map_or(self.now, |before| before.1);
            self.begin_waiting(waiter, since);
        }
    }

    /// How many of the first waiters should have a ticket. At least one, if there are waiters.
    fn wanted(&self) -> usize {
        let Some(first) = self.state.waiters.front() else {
            return 0;
        };
        let capacity = first.want.share.capacity;
        let mut room = capacity;
        let fits = |waiter: &&Arc<Waiter>| {
            let share = &waiter.want.share;
            let left = room.checked_sub(share.units);
            room = left.unwrap_or(0);
            share.capacity == capacity && (capacity == 0 || left.is_some())
        };
        let limit = if capacity == 0 { usize::MAX } else { TOGETHER };
        // A request for more than the capacity gets a ticket, so that the store refuses it.
        let together = self.state.waiters.iter().take_while(fits).take(limit);
        together.count().max(1)
    }

    /// The ticket's own waiter or, if that one has left, the first waiter that the ticket may serve.
    pub(super) fn waiter_of(&self, ticket: &Ticket) -> Option<usize> {
        let own = ticket.waiting()?.waiter.as_ref();
        let own = own.filter(|own| ticket.may_serve(own));
        own.and_then(|own| self.state.find_waiter(own)).or_else(|| {
            let mut waiters = self.state.waiters.iter();
            waiters.position(|waiter| ticket.may_serve(waiter))
        })
    }

    pub(super) fn take_waiter_of(&mut self, index: usize) -> Option<Arc<Waiter>> {
        let ticket = &self.state.tickets[index];
        if let Some(attempt) = ticket.attempting() {
            return Some(attempt.waiter.clone());
        }
        let own = self.waiter_of(ticket)?;
        self.state.waiters.remove(own)
    }

    pub(super) fn note_registered(&mut self) {
        let waits_for_signals = |waiter: &Arc<Waiter>| waiter.want.share.capacity == 0;
        if !self.state.waiters.front().is_some_and(waits_for_signals) {
            return;
        }
        let waiting = self.state.tickets.iter().filter_map(Ticket::waiting);
        for queued in waiting.filter(|waiting| waiting.queued) {
            if let Some(waiter) = &queued.waiter {
                waiter.note_registered(self.wakes);
            }
        }
    }
}

impl State {
    /// Waiters are mostly in order of arrival, which keeps the search short.
    pub(super) fn find_waiter(&self, waiter: &Arc<Waiter>) -> Option<usize> {
        let waiters = &self.waiters;
        let from = waiters.partition_point(|other| other.started < waiter.started);
        let same = |other: &Arc<Waiter>| Arc::ptr_eq(other, waiter);
        let near = waiters.iter().skip(from);
        let mut near = near.take_while(|other| other.started == waiter.started);
        match near.position(same) {
            Some(index) => Some(from + index),
            None => waiters.iter().position(same),
        }
    }
}

impl Waiting {
    fn is_for(&mut self, waiter: &Arc<Waiter>) {
        let own = self.waiter.as_ref();
        if !own.is_some_and(|own| Arc::ptr_eq(own, waiter)) {
            self.waiter = Some(waiter.clone());
        }
    }
}

/// If `spare` has a place in the store's queue, swaps it with a kept ticket that has no place.
fn keep_the_better_place(spare: &mut Ticket, kept: &mut [(Ticket, Arc<Waiter>)]) {
    let lesser =
        |(kept, waiter): &&mut (Ticket, Arc<Waiter>)| !kept.is_queued() && spare.may_serve(waiter);
    if spare.is_queued()
        && let Some((kept, _)) = kept.iter_mut().find(lesser)
    {
        std::mem::swap(kept, spare);
    }
}
