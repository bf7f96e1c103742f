//! [`Search`]: looks for a deadlock around one wait, in two rounds that share no answers. The second begins after the
//! first has ended, so what both have found existed at the moment between them.

use std::collections::HashSet;
use std::sync::Arc;

use super::graph::{Cycle, Graph, Wait, WaitId, WaitingHold};
use super::probe::{Answer, MOST_TICKETS, Probe};
use super::waits::TaskWait;
use crate::base::name::Name;
use crate::store::{MemberId, NameRecord, Ticket};

/// In one round. Waits for further names count as waits that will end.
const MOST_NAMES: usize = 256;

pub(crate) enum Todo {
    Inspect {
        round: u64,
        name: Name,
    },
    Send {
        name: Name,
        member: MemberId,
        probe: Probe,
    },
    Judge {
        cycle: Cycle,
        wait: Arc<TaskWait>,
    },
}

pub(super) struct Search {
    pub(super) root: WaitId,
    /// So that answers to another round are ignored.
    pub(super) round: u64,
    first: Option<Graph>,
    graph: Graph,
    names: HashSet<Name>,
    asked: HashSet<Ticket>,
    answered: HashSet<Ticket>,
    todos: Vec<Todo>,
}

impl Search {
    pub(super) fn new(round: u64, root: WaitId) -> Self {
        Self {
            root,
            round,
            first: None,
            graph: Graph::default(),
            names: HashSet::new(),
            asked: HashSet::new(),
            answered: HashSet::new(),
            todos: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, holds: Vec<WaitingHold>) -> Vec<Todo> {
        for hold in holds {
            self.asked.insert(hold.ticket);
            self.learn(hold);
        }
        std::mem::take(&mut self.todos)
    }

    pub(super) fn inspected(&mut self, name: &Name, record: &NameRecord) -> Vec<Todo> {
        if self.names.contains(name) && !self.graph.locks.contains_key(name) {
            self.graph.add_name(name, record);
            let waits = self.graph.holds.values().flat_map(|hold| &hold.waits);
            let here: Vec<Wait> = waits.filter(|wait| wait.name == *name).cloned().collect();
            here.iter().for_each(|wait| self.ask(wait));
        }
        std::mem::take(&mut self.todos)
    }

    pub(super) fn answered(&mut self, answer: Answer) -> Vec<Todo> {
        for ticket in answer.free {
            self.is_answer(ticket);
        }
        for ticket in answer.waiting {
            if self.is_answer(ticket) {
                self.graph.confirmed.insert(ticket);
            }
        }
        for hold in answer.holds {
            if self.is_answer(hold.ticket) {
                self.learn(hold);
            }
        }
        std::mem::take(&mut self.todos)
    }

    fn is_answer(&mut self, ticket: Ticket) -> bool {
        self.asked.contains(&ticket) && self.answered.insert(ticket)
    }

    fn learn(&mut self, hold: WaitingHold) {
        let waits = hold.waits.clone();
        self.answered.insert(hold.ticket);
        self.graph.holds.insert(hold.ticket, hold);
        for wait in waits {
            if self.graph.locks.contains_key(&wait.name) {
                self.ask(&wait);
            } else if self.names.len() < MOST_NAMES && self.names.insert(wait.name.clone()) {
                let (round, name) = (self.round, wait.name);
                self.todos.push(Todo::Inspect { round, name });
            }
        }
    }

    fn ask(&mut self, wait: &Wait) {
        for (member, ticket) in self.graph.in_the_way_of(wait) {
            if !self.asked.insert(ticket) {
                continue;
            }
            let same = self.todos.iter_mut().find_map(|todo| match todo {
                Todo::Send {
                    name,
                    member: to,
                    probe: Probe::Ask { tickets, .. },
                } if *to == member && *name == wait.name && tickets.len() < MOST_TICKETS => {
                    Some(tickets)
                }
                _ => None,
            });
            match same {
                Some(tickets) => tickets.push(ticket),
                None => {
                    let (name, round, tickets) = (wait.name.clone(), self.round, vec![ticket]);
                    let probe = Probe::Ask { round, tickets };
                    let todo = Todo::Send {
                        name,
                        member,
                        probe,
                    };
                    self.todos.push(todo);
                }
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.answered.len() == self.asked.len() && self.graph.locks.len() == self.names.len()
    }

    /// Whether another round must confirm what the last one has found.
    pub(super) fn must_confirm(&self) -> bool {
        self.first.is_some()
    }

    /// Returns the deadlock that the round has found. `round`: the number of the next one.
    pub(super) fn end(&mut self, round: u64) -> Option<Cycle> {
        let ended = std::mem::replace(self, Self::new(round, self.root));
        if let Some(first) = ended.first {
            return ended.graph.and(&first).cycle(self.root);
        }
        let cycle = ended.graph.cycle(self.root)?;
        self.first = Some(ended.graph);
        Some(cycle)
    }
}
