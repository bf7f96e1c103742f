//! [`Search`]: looks for a deadlock around one wait, in two rounds that share no answers. The second begins after the
//! first has ended, so what both have found existed at the moment between them.

use std::collections::HashSet;
use std::sync::Arc;

use super::graph::{Cycle, Graph, Wait, WaitId, WaitingHold};
use super::probe::{Answer, MOST_TICKETS, Probe};
use super::waits::TaskWait;
use crate::name::Name;
use crate::store::{MemberId, NameRecord, Ticket};

/// In one round. Waits for further names count as waits that will end.
const MOST_NAMES: usize = 256;

#[derive(Debug)]
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

#[derive(Debug)]
pub(super) struct Search {
    root: WaitId,
    /// So that answers to another round are ignored.
    round: u64,
    first: Option<Graph>,
    graph: Graph,
    names: HashSet<Name>,
    asked: HashSet<Ticket>,
    answered: HashSet<Ticket>,
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
        }
    }

    pub(super) fn root(&self) -> WaitId {
        self.root
    }

    pub(super) fn round(&self) -> u64 {
        self.round
    }

    pub(super) fn begin(&mut self, holds: Vec<WaitingHold>) -> Vec<Todo> {
        let mut todos = Vec::new();
        for hold in holds {
            self.asked.insert(hold.ticket);
            self.learn(hold, &mut todos);
        }
        todos
    }

    pub(super) fn inspected(&mut self, name: &Name, record: &NameRecord) -> Vec<Todo> {
        let mut todos = Vec::new();
        if !self.names.contains(name) || self.graph.knows(name) {
            return todos;
        }
        self.graph.add_name(name, record);
        for wait in self.graph.waits_for(name) {
            self.ask(&wait, &mut todos);
        }
        todos
    }

    pub(super) fn answered(&mut self, answer: Answer) -> Vec<Todo> {
        let mut todos = Vec::new();
        for ticket in answer.free {
            self.is_answer(ticket);
        }
        for ticket in answer.waiting {
            if self.is_answer(ticket) {
                self.graph.add_waiter(ticket);
            }
        }
        for hold in answer.holds {
            if self.is_answer(hold.ticket) {
                self.learn(hold, &mut todos);
            }
        }
        todos
    }

    fn is_answer(&mut self, ticket: Ticket) -> bool {
        self.asked.contains(&ticket) && self.answered.insert(ticket)
    }

    fn learn(&mut self, hold: WaitingHold, todos: &mut Vec<Todo>) {
        let waits = hold.waits.clone();
        self.answered.insert(hold.ticket);
        self.graph.add_hold(hold);
        for wait in waits {
            match self.graph.knows(&wait.name) {
                true => self.ask(&wait, todos),
                false => self.inspect(&wait.name, todos),
            }
        }
    }

    fn inspect(&mut self, name: &Name, todos: &mut Vec<Todo>) {
        if self.names.len() < MOST_NAMES && self.names.insert(name.clone()) {
            todos.push(Todo::Inspect {
                round: self.round,
                name: name.clone(),
            });
        }
    }

    fn ask(&mut self, wait: &Wait, todos: &mut Vec<Todo>) {
        for (member, ticket) in self.graph.in_the_way_of(wait) {
            if !self.asked.insert(ticket) {
                continue;
            }
            let same = todos.iter_mut().find_map(|todo| match todo {
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
                None => todos.push(Todo::Send {
                    name: wait.name.clone(),
                    member,
                    probe: Probe::Ask {
                        round: self.round,
                        tickets: vec![ticket],
                    },
                }),
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.answered.len() == self.asked.len() && self.graph.names() == self.names.len()
    }

    /// Whether another round must confirm what the last one has found.
    pub(super) fn must_confirm(&self) -> bool {
        self.first.is_some()
    }

    /// Returns the deadlock that the round has found. `round`: the number of the next one.
    pub(super) fn end(&mut self, round: u64) -> Option<Cycle> {
        let graph = std::mem::take(&mut self.graph);
        self.names.clear();
        self.asked.clear();
        self.answered.clear();
        self.round = round;
        if let Some(first) = self.first.take() {
            return graph.and(&first).cycle(self.root);
        }
        let cycle = graph.cycle(self.root)?;
        self.first = Some(graph);
        Some(cycle)
    }
}
