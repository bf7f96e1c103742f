//! [`Search`]: looks for deadlocks around the waits of one client, in two rounds that share no answers. The second
//! begins after the first has ended, so whatever both have found existed at the moment in between. Each round asks once
//! about each name and ticket, however many waits need the answer. Inside, tickets have no secret half, because answers
//! don't either.

use std::sync::Arc;
use std::time::Duration;

use super::graph::{Cycle, Graph, Wait, WaitId, WaitingHold};
use super::probe::{Answer, MOST_TICKETS, Probe};
use super::waits::TaskWait;
use crate::base::name::Name;
use crate::base::sync::{HashMap, HashSet};
use crate::store::{MemberId, NameRecord, Ticket, TicketMap};

/// The limit for one round. Waits for further names count as waits that will end.
const MOST_NAMES: usize = 256;

pub(crate) enum Todo {
    /// Includes the waiters if some of them may ask for more units than `above`: only those can block a wait.
    Inspect {
        round: u64,
        name: Name,
        above: u32,
    },
    Send {
        name: Name,
        member: MemberId,
        /// The ticket that both clients know, with which the message is sealed.
        key: Ticket,
        probe: Probe,
    },
    Judge {
        cycle: Cycle,
        wait: Arc<TaskWait>,
    },
}

pub(super) struct Search {
    /// Answers to other rounds are ignored.
    pub(super) round: u64,
    pub(super) roots: Vec<WaitId>,
    /// How long the round lasts without an answer.
    pub(super) patience: Duration,
    /// What the first round has found.
    first: Option<Graph>,
    graph: Graph,
    /// The complete tickets.
    known: TicketMap<Ticket>,
    /// For each name, the fewest units that any known wait asks for.
    names: HashMap<Name, u32>,
    asked: HashSet<Ticket>,
    answered: HashSet<Ticket>,
    to_inspect: Vec<Name>,
    todos: Vec<Todo>,
}

/// What a round has found out about one wait, and whether it has all the answers on which the wait depends.
pub(super) type Finding = (WaitId, bool, Option<Cycle>);

impl Search {
    /// `first` is what the first round has found; `None` in the first round.
    pub(super) fn new(round: u64, first: Option<Graph>) -> Self {
        Self {
            round,
            roots: Vec::new(),
            patience: Duration::ZERO,
            first,
            graph: Graph::default(),
            known: TicketMap::default(),
            names: HashMap::default(),
            asked: HashSet::default(),
            answered: HashSet::default(),
            to_inspect: Vec::new(),
            todos: Vec::new(),
        }
    }

    /// Adds a wait to check, with the holds of its task.
    pub(super) fn add(&mut self, root: WaitId, holds: Vec<WaitingHold>) {
        self.roots.push(root);
        for hold in holds {
            let ticket = hold.ticket.without_secret();
            self.known.insert(ticket, hold.ticket);
            self.asked.insert(ticket);
            self.learn(hold);
        }
    }

    /// The ticket with this public half, if this round has seen it.
    pub(super) fn ticket(&self, public: u64) -> Option<Ticket> {
        self.known.get(&Ticket::of_public(public)).copied()
    }

    /// Whether the remaining names should be left to the waits added so far.
    pub(super) fn is_full(&self) -> bool {
        self.names.len() >= MOST_NAMES / 2
    }

    pub(super) fn take_todos(&mut self) -> Vec<Todo> {
        let mut todos = std::mem::take(&mut self.todos);
        for name in std::mem::take(&mut self.to_inspect) {
            let (round, above) = (self.round, self.names[&name]);
            todos.push(Todo::Inspect { round, name, above });
        }
        todos
    }

    /// `above`: see [`Todo::Inspect`].
    pub(super) fn inspected(
        &mut self,
        (name, above): (&Name, u32),
        record: &NameRecord,
    ) -> Vec<Todo> {
        if let Some(&fewest) = self.names.get(name)
            && !self.graph.locks.contains_key(name)
        {
            if has_waiters_for(record, above, fewest) {
                let mut record = record.clone();
                for one in record.holders.iter_mut().chain(&mut record.waiters) {
                    let complete = one.ticket;
                    one.ticket = complete.without_secret();
                    self.known.insert(one.ticket, complete);
                }
                self.graph.add_name(name, &record);
                let waits = self.graph.holds.values().flat_map(|hold| &hold.waits);
                let here: Vec<Wait> = waits.filter(|wait| wait.name == *name).cloned().collect();
                here.iter().for_each(|wait| self.ask(wait));
            } else {
                self.to_inspect.push(name.clone());
            }
        }
        self.take_todos()
    }

    pub(super) fn answered(&mut self, answer: Answer) -> Vec<Todo> {
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
                self.learn(hold);
            }
        }
        self.take_todos()
    }

    fn is_answer(&mut self, ticket: Ticket) -> bool {
        let ticket = ticket.without_secret();
        self.asked.contains(&ticket) && self.answered.insert(ticket)
    }

    fn learn(&mut self, mut hold: WaitingHold) {
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
                Some(lock) if has_waiters_for(lock, before, wait.units) => self.ask(&wait),
                Some(_) => {
                    self.graph.locks.remove(&wait.name);
                    self.to_inspect.push(wait.name);
                }
                None => {}
            }
        }
    }

    fn ask(&mut self, wait: &Wait) {
        for (member, ticket) in self.graph.in_the_way_of(wait) {
            let Some(&key) = self.known.get(&ticket) else {
                continue;
            };
            if !self.asked.insert(ticket) {
                continue;
            }
            let same = self.todos.iter_mut().find_map(|todo| match todo {
                Todo::Send {
                    name,
                    member: to,
                    probe: Probe::Ask { tickets, .. },
                    ..
                } if *to == member && *name == wait.name && tickets.len() < MOST_TICKETS => {
                    Some(tickets)
                }
                _ => None,
            });
            match same {
                Some(tickets) => tickets.push(key),
                None => {
                    let (name, round, tickets) = (wait.name.clone(), self.round, vec![key]);
                    let probe = Probe::Ask { round, tickets };
                    let todo = Todo::Send {
                        name,
                        member,
                        key,
                        probe,
                    };
                    self.todos.push(todo);
                }
            }
        }
    }

    /// Grows with each answer that says something new.
    pub(super) fn progress(&self) -> usize {
        self.answered.len() + self.graph.locks.len()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.answered.len() == self.asked.len() && self.graph.locks.len() == self.names.len()
    }

    /// Like [`is_complete`](Self::is_complete), but only for what `root` depends on.
    fn is_complete_for(&self, root: WaitId) -> bool {
        let mut next = self.graph.waits_beside(root);
        let mut seen = HashSet::default();
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

    /// Ends the round. After the first, returns the graph with which the second must confirm each cycle.
    pub(super) fn end(mut self) -> (Vec<Finding>, Option<Graph>) {
        let roots = std::mem::take(&mut self.roots).into_iter();
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
