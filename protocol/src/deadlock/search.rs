//! [`Search`]: looks for deadlocks around the waits of one client, in two passes that share no answers. The second
//! begins after the first has ended, so whatever both have found existed at the moment in between. Each pass asks once
//! about each name and ticket, however many waits need the answer. Inside, tickets have no secret half, because answers
//! don't either.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::graph::{Cycle, Graph};
use super::input::Effect;
use super::probe::{Answer, MOST_TICKETS, Probe};
use super::wait::{Wait, WaitId, WaitingHold};
use crate::{Instant, MemberId, NameRecord, Ticket};

/// The limit for one pass. Waits for further names count as waits that will end.
const MOST_NAMES: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Search<N> {
    /// Answers to other passes are ignored.
    pub(super) pass: u64,
    /// Waits to search for whose holds are not known yet.
    pub(super) unseen: VecDeque<WaitId>,
    pub(super) roots: Vec<WaitId>,
    /// How long the pass lasts without an answer.
    pub(super) patience: Duration,
    pub(super) ends: Instant,
    /// What the first pass has found.
    pub(super) first: Option<Graph<N>>,
    pub(super) graph: Graph<N>,
    /// The complete tickets.
    pub(super) known: BTreeMap<Ticket, Ticket>,
    /// For each name, the fewest units that any known wait asks for.
    pub(super) names: BTreeMap<N, u32>,
    pub(super) asked: BTreeSet<Ticket>,
    pub(super) answered: BTreeSet<Ticket>,
    pub(super) to_inspect: Vec<N>,
}

/// What a pass has found out about one wait, and whether it has all the answers on which the wait depends.
pub(super) type Finding<N> = (WaitId, bool, Option<Cycle<N>>);

impl<N: Clone + Ord> Search<N> {
    /// `first` is what the first pass has found; `None` in the first pass.
    pub(super) fn new(pass: u64, unseen: VecDeque<WaitId>, first: Option<Graph<N>>) -> Self {
        Self {
            pass,
            unseen,
            roots: Vec::new(),
            patience: Duration::ZERO,
            ends: Instant::START,
            first,
            graph: Graph::default(),
            known: BTreeMap::new(),
            names: BTreeMap::new(),
            asked: BTreeSet::new(),
            answered: BTreeSet::new(),
            to_inspect: Vec::new(),
        }
    }

    /// Adds a wait to check, with the holds of its task.
    pub(super) fn add(
        &mut self,
        root: WaitId,
        holds: Vec<WaitingHold<N>>,
        effects: &mut Vec<Effect<N>>,
    ) {
        self.roots.push(root);
        for hold in holds {
            let ticket = hold.ticket.without_secret();
            self.known.insert(ticket, hold.ticket);
            self.asked.insert(ticket);
            self.learn(hold, effects);
        }
    }

    /// The ticket with this public half, if this pass has seen it.
    pub(super) fn ticket(&self, public: u64) -> Option<Ticket> {
        self.known.get(&Ticket::of_public(public)).copied()
    }

    /// Whether the remaining names should be left to the waits added so far.
    pub(super) fn is_full(&self) -> bool {
        self.names.len() >= MOST_NAMES / 2
    }

    /// Asks for the names that this input has brought up.
    pub(super) fn inspect(&mut self, effects: &mut Vec<Effect<N>>) {
        for name in core::mem::take(&mut self.to_inspect) {
            let (pass, above) = (self.pass, self.names[&name]);
            effects.push(Effect::Inspect { pass, name, above });
        }
    }

    /// `above`: see [`Effect::Inspect`].
    pub(super) fn inspected(
        &mut self,
        (name, above): (&N, u32),
        mut record: NameRecord,
        effects: &mut Vec<Effect<N>>,
    ) {
        let fewest = self.names.get(name).copied();
        let Some(fewest) = fewest.filter(|_| !self.graph.locks.contains_key(name)) else {
            return;
        };
        if !has_waiters_for(&record, above, fewest) {
            self.to_inspect.push(name.clone());
            return;
        }
        for one in record.holders.iter_mut().chain(&mut record.waiters) {
            let complete = one.ticket;
            one.ticket = complete.without_secret();
            self.known.insert(one.ticket, complete);
        }
        self.graph.add_name(name, record);
        let waits = self.graph.holds.values().flat_map(|hold| &hold.waits);
        let here: Vec<_> = waits.filter(|wait| wait.name == *name).cloned().collect();
        here.iter().for_each(|wait| self.ask(wait, effects));
    }

    pub(super) fn answered(&mut self, answer: Answer<N>, effects: &mut Vec<Effect<N>>) {
        for ticket in answer.free {
            self.is_answer(ticket);
        }
        for ticket in answer.waiting {
            if self.is_answer(ticket) {
                self.graph.confirmed.insert(ticket.without_secret());
            }
        }
        for hold in answer.holds {
            if self.is_answer(hold.ticket) {
                self.learn(hold, effects);
            }
        }
    }

    fn is_answer(&mut self, ticket: Ticket) -> bool {
        let ticket = ticket.without_secret();
        self.asked.contains(&ticket) && self.answered.insert(ticket)
    }

    fn learn(&mut self, mut hold: WaitingHold<N>, effects: &mut Vec<Effect<N>>) {
        hold.ticket = hold.ticket.without_secret();
        for wait in &mut hold.waits {
            wait.after = wait.after.map(Ticket::without_secret);
        }
        let waits = hold.waits.clone();
        self.answered.insert(hold.ticket);
        self.graph.holds.insert(hold.ticket, hold);
        for wait in waits {
            let is_full = self.names.len() >= MOST_NAMES;
            let Some(fewest) = self.names.get_mut(&wait.name) else {
                if !is_full {
                    self.to_inspect.push(wait.name.clone());
                    self.names.insert(wait.name, wait.units);
                }
                continue;
            };
            let before = *fewest;
            *fewest = before.min(wait.units);
            match self.graph.locks.get(&wait.name) {
                Some(lock) if has_waiters_for(lock, before, wait.units) => self.ask(&wait, effects),
                Some(_) => {
                    self.graph.locks.remove(&wait.name);
                    self.to_inspect.push(wait.name);
                }
                None => {}
            }
        }
    }

    fn ask(&mut self, wait: &Wait<N>, effects: &mut Vec<Effect<N>>) {
        for (member, ticket) in self.graph.in_the_way_of(wait) {
            let Some(&key) = self.known.get(&ticket) else {
                continue;
            };
            if !self.asked.insert(ticket) {
                continue;
            }
            let same = effects.iter_mut().find_map(|effect| match effect {
                Effect::Send {
                    name,
                    member: to,
                    probe: Probe::Ask { pass, tickets },
                    ..
                } if (*to, *pass) == (member, self.pass)
                    && *name == wait.name
                    && tickets.len() < MOST_TICKETS =>
                {
                    Some(tickets)
                }
                _ => None,
            });
            match same {
                Some(tickets) => tickets.push(key),
                None => effects.push(Effect::Send {
                    name: wait.name.clone(),
                    member,
                    key,
                    probe: Probe::Ask {
                        pass: self.pass,
                        tickets: vec![key],
                    },
                }),
            }
        }
    }

    /// Grows with each answer that says something new.
    pub(super) fn progress(&self) -> usize {
        self.answered.len() + self.graph.locks.len()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.unseen.is_empty()
            && self.answered.len() == self.asked.len()
            && self.graph.locks.len() == self.names.len()
    }

    /// Like [`is_complete`](Self::is_complete), but only for what `root` depends on.
    fn is_complete_for(&self, root: WaitId) -> bool {
        let mut next = self.graph.waits_beside(root);
        let mut seen = BTreeSet::new();
        while let Some(wait) = next.pop() {
            // Names beyond `MOST_NAMES` are not asked for.
            if !seen.insert(wait.id) || !self.names.contains_key(&wait.name) {
                continue;
            }
            let blockers = self.graph.in_the_way_of(wait);
            let known = |(_, ticket): &(MemberId, Ticket)| self.answered.contains(ticket);
            if !self.graph.locks.contains_key(&wait.name) || !blockers.iter().all(known) {
                return false;
            }
            for (_, ticket) in blockers {
                next.extend(self.graph.waits_of(ticket));
            }
        }
        true
    }

    /// Ends the pass. After the first, returns the graph with which the second must confirm each cycle.
    pub(super) fn end(mut self) -> (Vec<Finding<N>>, Option<Graph<N>>) {
        let roots = core::mem::take(&mut self.roots).into_iter();
        let roots: Vec<_> = roots
            .map(|root| (root, self.is_complete_for(root)))
            .collect();
        let (graph, is_first) = match &self.first {
            Some(first) => (self.graph.and(first), false),
            None => (self.graph, true),
        };
        let blocked = graph.blocked();
        let finding = |(root, complete)| {
            let mut cycle = graph.cycle(root, &blocked);
            if let Some(Cycle { chosen, .. }) = &mut cycle
                && let Some(ticket) = self.known.get(&chosen.hold.ticket)
            {
                chosen.hold.ticket = *ticket;
            }
            (root, complete, cycle)
        };
        let findings = roots.into_iter().map(finding).collect();
        (findings, is_first.then_some(graph))
    }
}

/// Whether a record requested with `above` has all waiters that can block a wait for `units`.
fn has_waiters_for(record: &NameRecord, above: u32, units: u32) -> bool {
    record
        .capacity
        .is_none_or(|capacity| above < capacity || units >= capacity)
}
