//! Shows the searches of a client to a [`Visitor`], and forgets what can never count again.

use alloc::collections::BTreeSet;

use super::graph::Graph;
use super::probe::Answer;
use super::search::Search;
use super::searches::Searches;
use super::wait::{Wait, WaitId, WaitingHold};
use crate::visit::keyed;
use crate::{NameRecord, Ticket, Visitor};

/// What also meets the names, waits and passes of a search.
pub trait SearchVisitor<N>: Visitor {
    /// A name.
    fn name(&mut self, name: &mut N);
    /// A wait.
    fn wait(&mut self, wait: &mut WaitId);
    /// The number of a pass.
    fn pass(&mut self, pass: &mut u64);
}

impl<N: Clone + Ord> Searches<N> {
    /// Whether a search compares what it finds with what an earlier pass has found.
    pub fn confirms(&self) -> bool {
        let search = self.search.as_ref();
        search.is_some_and(|search| search.first.is_some())
    }

    /// The number of the pass, if there is a search.
    pub fn pass(&self) -> Option<u64> {
        Some(self.search.as_ref()?.pass)
    }

    /// Whether some wait is not looked for at the moment.
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether the search in progress can find nothing, whatever answers come: its waits are over, or what it has to
    /// find again is not there.
    pub fn is_in_vain(&self, waits: impl Fn(WaitId) -> bool) -> bool {
        let Some(search) = &self.search else {
            return false;
        };
        let roots = search.unseen.iter().chain(&search.roots);
        let mut roots = roots.filter(|root| waits(**root));
        let may_find = |root: &WaitId| match &search.first {
            Some(first) => first.cycle(*root, &first.blocked()).is_some(),
            None => true,
        };
        !roots.any(may_find)
    }

    /// Forgets waits that are over, and tickets that are no more. `is_known` and `waits` know those that are left.
    pub fn forget(&mut self, is_known: impl Fn(Ticket) -> bool, waits: impl Fn(WaitId) -> bool) {
        let searched = self.search.as_ref();
        let searched = searched.map(|search| (&search.unseen, &search.roots));
        let is_root = |wait| {
            searched.is_some_and(|(unseen, roots)| unseen.contains(&wait) || roots.contains(&wait))
        };
        self.looks.retain(|wait, _| is_root(*wait) || waits(*wait));
        let looks = &self.looks;
        self.due.retain(|(_, wait)| looks.contains_key(wait));
        if let Some(search) = &mut self.search {
            search.forget(is_known);
        }
    }

    /// Forgets how many incomplete passes counted for nothing, where all do.
    pub fn forget_dropped(&mut self) {
        self.looks.values_mut().for_each(|look| look.dropped = 0);
    }

    /// Shows the searches to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl SearchVisitor<N>) {
        if let Some(search) = &mut self.search {
            search.visit(visitor);
        }
        visitor.pass(&mut self.next_pass);
        visitor.instant(&mut self.rests);
        self.due = core::mem::take(&mut self.due)
            .into_iter()
            .map(|(mut at, mut wait)| {
                visitor.instant(&mut at);
                visitor.wait(&mut wait);
                (at, wait)
            })
            .collect();
        keyed(&mut self.looks, |wait, look| {
            visitor.wait(wait);
            visitor.instant(&mut look.due);
            visitor.instant(&mut look.urged);
            for mut tokens in core::mem::take(&mut look.reported) {
                tokens.iter_mut().for_each(|token| visitor.token(token));
                tokens.sort_unstable();
                look.reported.insert(tokens);
            }
        });
        for (member, _, ticket) in &mut self.questions {
            visitor.member(member);
            ticket.iter_mut().for_each(|ticket| visitor.ticket(ticket));
        }
    }
}

impl<N: Clone + Ord> Search<N> {
    fn forget(&mut self, is_known: impl Fn(Ticket) -> bool) {
        // Nothing follows from a ticket that is no more, and for which no task was waiting.
        let graph = &mut self.graph;
        let is_over = |ticket: &Ticket| {
            !is_known(*ticket)
                && self.answered.contains(ticket)
                && !graph.holds.contains_key(ticket)
                && !graph.confirmed.contains(ticket)
        };
        let over: BTreeSet<_> = self.asked.iter().copied().filter(is_over).collect();
        let is_left = |ticket: &Ticket| !over.contains(ticket);
        self.asked.retain(is_left);
        self.answered.retain(is_left);
        self.known.retain(|ticket, _| is_left(ticket));
        for lock in graph.locks.values_mut() {
            lock.holders.retain(|holder| is_left(&holder.ticket));
        }
        // The second pass can find only what it has found already, or what is still there.
        if let Some(first) = &mut self.first {
            let found: BTreeSet<_> = graph.tickets().collect();
            let is_left = |ticket: &Ticket| is_known(*ticket) || found.contains(ticket);
            first.holds.retain(|ticket, _| is_left(ticket));
            first.confirmed.retain(is_left);
            for lock in first.locks.values_mut() {
                lock.holders.retain(|holder| is_left(&holder.ticket));
                lock.waiters.retain(|waiter| is_left(&waiter.ticket));
            }
        }
    }

    fn visit(&mut self, visitor: &mut impl SearchVisitor<N>) {
        visitor.pass(&mut self.pass);
        visitor.instant(&mut self.ends);
        for wait in self.unseen.iter_mut().chain(&mut self.roots) {
            visitor.wait(wait);
        }
        self.graph.visit(visitor);
        if let Some(first) = &mut self.first {
            first.visit(visitor);
        }
        keyed(&mut self.known, |ticket, complete| {
            visitor.ticket(ticket);
            visitor.ticket(complete);
        });
        keyed(&mut self.names, |name, _| visitor.name(name));
        for name in &mut self.to_inspect {
            visitor.name(name);
        }
        for tickets in [&mut self.asked, &mut self.answered] {
            show_all(tickets, visitor);
        }
    }
}

impl<N: Clone + Ord> Graph<N> {
    /// All that it says something about.
    fn tickets(&self) -> impl Iterator<Item = Ticket> {
        let locks = self.locks.values();
        let records = locks.flat_map(|lock| lock.holders.iter().chain(&lock.waiters));
        let tickets = records.map(|record| record.ticket);
        tickets
            .chain(self.holds.keys().copied())
            .chain(self.confirmed.iter().copied())
    }

    fn visit(&mut self, visitor: &mut impl SearchVisitor<N>) {
        keyed(&mut self.holds, |ticket, hold| {
            visitor.ticket(ticket);
            hold.visit(visitor);
        });
        keyed(&mut self.locks, |name, lock| {
            visitor.name(name);
            lock.visit(visitor);
        });
        show_all(&mut self.confirmed, visitor);
    }
}

impl<N> WaitingHold<N> {
    /// Shows the hold to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl SearchVisitor<N>) {
        visitor.ticket(&mut self.ticket);
        visitor.token(&mut self.token);
        for Wait {
            id, name, after, ..
        } in &mut self.waits
        {
            visitor.wait(id);
            visitor.name(name);
            after.iter_mut().for_each(|ticket| visitor.ticket(ticket));
        }
    }
}

impl<N> Answer<N> {
    /// Shows the answer to `visitor`.
    pub fn visit(&mut self, visitor: &mut impl SearchVisitor<N>) {
        visitor.pass(&mut self.pass);
        self.holds.iter_mut().for_each(|hold| hold.visit(visitor));
        for ticket in self.waiting.iter_mut().chain(&mut self.free) {
            visitor.ticket(ticket);
        }
    }
}

impl NameRecord {
    /// Shows the tickets to `visitor`. A search does not read the rest, which is forgotten.
    fn visit(&mut self, visitor: &mut impl Visitor) {
        *self = Self {
            capacity: self.capacity,
            holders: core::mem::take(&mut self.holders),
            waiters: core::mem::take(&mut self.waiters),
            ..Self::default()
        };
        for record in self.holders.iter_mut().chain(&mut self.waiters) {
            visitor.ticket(&mut record.ticket);
            visitor.member(&mut record.member);
            (record.since, record.token) = (0, 0);
            record.left = core::time::Duration::ZERO;
        }
        self.holders.sort_by_key(|record| record.ticket);
    }
}

fn show_all(tickets: &mut BTreeSet<Ticket>, visitor: &mut impl Visitor) {
    *tickets = core::mem::take(tickets)
        .into_iter()
        .map(|mut ticket| {
            visitor.ticket(&mut ticket);
            ticket
        })
        .collect();
}
