//! How many tickets wait in the store, and which local waiter each of them serves.
//!
//! A mutex has one waiting ticket, which serves the waiter that is first at the time of the grant. Waiters that could
//! hold together, for example readers, have a ticket each, which serves no later waiter: see
//! [`Ticket::may_serve`].

use std::collections::HashSet;
use std::sync::Arc;

use super::lock_queue::{State, Transition};
use super::ticket::{Ticket, TicketState, Waiting};
use super::waiter::Waiter;
use crate::clock::Instant;

/// The maximum number of tickets that wait in the store for waiters that could hold together. Waiters for signals have
/// no maximum, because `notify_all` must reach every waiter.
const TOGETHER: usize = 64;

impl Transition<'_> {
    /// Adds and withdraws tickets, so that each of the first waiters that could hold together has one.
    pub(super) fn match_tickets(&mut self) {
        if self.match_first() {
            return;
        }
        let wanted = self.wanted();
        if wanted == 0 && self.keeps_spare() {
            let waiting = self.state.tickets.iter_mut();
            for spare in waiting.filter_map(Ticket::waiting_mut) {
                spare.waiter = None;
            }
            return;
        }
        let owners = self.owners_behind(wanted);
        let State {
            waiters, tickets, ..
        } = &mut *self.state;
        let first = waiters.iter().take(wanted).chain(&owners);
        let waiting = tickets.iter().filter(|ticket| ticket.waiting().is_some());
        let count = waiting.clone().count();
        let matching = first
            .clone()
            .zip(waiting)
            .take_while(|(waiter, ticket)| ticket.may_serve(waiter))
            .count();
        if matching < count {
            let first = first.cloned().collect();
            return self.match_anew(first);
        }
        let waiting = tickets.iter_mut().filter_map(Ticket::waiting_mut);
        for (waiter, ticket) in first.zip(waiting) {
            ticket.is_for(waiter);
        }
        for index in matching..wanted + owners.len() {
            let waiter = match index.checked_sub(wanted) {
                None => self.state.waiters[index].clone(),
                Some(behind) => owners[behind].clone(),
            };
            self.begin_waiting(waiter, self.now);
        }
    }

    /// Adds a ticket that waits for `waiter`. The store has not answered the waiter's request since `unanswered_since`.
    fn begin_waiting(&mut self, waiter: Arc<Waiter>, unanswered_since: Instant) {
        let lease = self.queue.lease_of(waiter.want.terms);
        let waiting = Waiting {
            share: waiter.want.share.clone(),
            waiter: Some(waiter),
            unanswered_since,
            queued: false,
            holder: None,
            place: None,
            stale: 0,
            trouble: None,
        };
        self.begin(lease, TicketState::Waiting(waiting));
    }

    /// Gives each waiter in `first` an existing ticket that may serve it, or a new one. Withdraws the remaining
    /// tickets.
    fn match_anew(&mut self, first: Vec<Arc<Waiter>>) {
        let waiting = |ticket: &mut Ticket| ticket.waiting().is_some();
        let tickets = self.state.tickets.extract_if(.., waiting);
        let mut spare: Vec<_> = tickets.map(Some).collect();
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        let mut next = 0;
        // Each search begins after the last match. Usually only one of many equal waiters came or left, so the other
        // tickets are still in order.
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
                unanswered.push((waiting.share.clone(), waiting.unanswered_since));
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

    /// Handles the usual case: one ticket waits, and the first waiter excludes all others. Returns whether this is the
    /// case.
    fn match_first(&mut self) -> bool {
        let State {
            waiters,
            tickets,
            owners,
            ..
        } = &mut *self.state;
        let mut waiting = tickets
            .iter_mut()
            .filter(|ticket| ticket.waiting().is_some());
        let (Some(ticket), None, Some(first)) = (waiting.next(), waiting.next(), waiters.front())
        else {
            return false;
        };
        let share = &first.want.share;
        let matches = share.units == share.capacity && !*owners && ticket.may_serve(first);
        if matches && let Some(waiting) = ticket.waiting_mut() {
            waiting.is_for(first);
        }
        matches
    }

    /// How many of the first waiters should have a ticket in the store; at least one, if there is a waiter.
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
        // A request for more than the capacity gets a ticket too, so that the store answers it.
        let together = self.state.waiters.iter().take_while(fits).take(limit);
        together.count().max(1)
    }

    /// From the waiters after the first `wanted`, returns one for each owner that may hold in another process. The
    /// store grants their requests regardless of their places.
    fn owners_behind(&mut self, wanted: usize) -> Vec<Arc<Waiter>> {
        if !self.state.owners {
            return Vec::new();
        }
        let owned = |waiter: &&Arc<Waiter>| !waiter.want.share.owner.is_empty();
        self.state.owners = self.state.waiters.iter().any(|waiter| owned(&waiter));
        let first = self.state.waiters.iter().take(wanted).filter(owned);
        let mut known: HashSet<_> = first.map(|waiter| &waiter.want.share.owner).collect();
        let behind = self.state.waiters.iter().skip(wanted).filter(owned);
        behind
            .filter(|waiter| known.insert(&waiter.want.share.owner))
            .cloned()
            .collect()
    }

    /// The index of the waiter that the waiting ticket belongs to. If that waiter has left, the index of the first
    /// waiter that the ticket may serve.
    pub(super) fn waiter_of(&self, ticket: &Ticket) -> Option<usize> {
        let own = ticket.waiting()?.waiter.as_ref();
        let own = own.filter(|own| ticket.may_serve(own));
        own.and_then(|own| self.state.find_waiter(own)).or_else(|| {
            let mut waiters = self.state.waiters.iter();
            waiters.position(|waiter| ticket.may_serve(waiter))
        })
    }

    /// Removes the waiter of the ticket at `index` from the queue: see [`waiter_of`](Self::waiter_of).
    pub(super) fn take_waiter_of(&mut self, index: usize) -> Option<Arc<Waiter>> {
        let own = self.waiter_of(&self.state.tickets[index])?;
        self.state.waiters.remove(own)
    }

    /// If the waiters wait for signals, notifies each one whose ticket is now in the store's queue.
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
    /// The index of `waiter`, if it is in the queue. Waiters are mostly in order of arrival, so the search is short.
    pub(super) fn find_waiter(&self, waiter: &Arc<Waiter>) -> Option<usize> {
        let waiters = &self.waiters;
        let from = waiters.partition_point(|other| other.started < waiter.started);
        let same = |other: &Arc<Waiter>| Arc::ptr_eq(other, waiter);
        let near = waiters
            .iter()
            .skip(from)
            .take_while(|other| other.started == waiter.started)
            .position(same);
        match near {
            Some(index) => Some(from + index),
            None => waiters.iter().position(same),
        }
    }
}

impl Waiting {
    fn is_for(&mut self, waiter: &Arc<Waiter>) {
        if !self
            .waiter
            .as_ref()
            .is_some_and(|own| Arc::ptr_eq(own, waiter))
        {
            self.waiter = Some(waiter.clone());
        }
    }
}

/// If `spare` has a place in the store's queue, swaps it with a kept ticket that has none.
fn keep_the_better_place(spare: &mut Ticket, kept: &mut [(Ticket, Arc<Waiter>)]) {
    let queued = |ticket: &Ticket| ticket.waiting().is_some_and(|waiting| waiting.queued);
    if !queued(spare) {
        return;
    }
    let lesser =
        |(kept, waiter): &&mut (Ticket, Arc<Waiter>)| !queued(kept) && spare.may_serve(waiter);
    if let Some((kept, _)) = kept.iter_mut().find(lesser) {
        std::mem::swap(kept, spare);
    }
}
