//! The client's part in the search for deadlocks: carries out what its [`Detector`](crate::deadlock::Detector)
//! asks for.

use std::sync::Arc;

use super::ClientCore;
use crate::base::clock::{self, Instant};
use crate::base::error::{DeadlockHop, LockError};
use crate::base::name::Name;
use crate::base::wait;
use crate::config::Deadlock;
use crate::deadlock::{Probe, TaskWait, Todo};
use crate::observe::ACQUIRE;
use crate::store::{Answer, MemberId, Op, Reply, Request, Ticket, seal};

impl ClientCore {
    pub(crate) fn look_for_deadlock(&self, wait: &Arc<TaskWait>) {
        let after = self.settings.deadlock_after;
        let due = self.detector.add(wait, clock::now(), after);
        // If it is due later, the background thread wakes in time anyway.
        if due < clock::now().after(super::NAP) {
            self.timers.interrupt();
        }
    }

    pub(super) fn search_for_deadlocks(&self, now: Instant) -> Option<Instant> {
        let next = self.detector.next()?;
        if next > now {
            return Some(next);
        }
        self.carry_out(self.detector.tick(now));
        self.detector.next()
    }

    fn carry_out(&self, mut todos: Vec<Todo>) {
        while let Some(todo) = todos.pop() {
            match todo {
                Todo::Inspect { round, name, above } => {
                    let (id, op) = (self.request_id(), Op::Inspect { above });
                    wait::lock(&self.inspections).insert(id, round);
                    if let Some(answer) = self.store.submit(Request { name, op, id }) {
                        todos.extend(self.inspected(&answer, above).into_iter().flatten());
                    }
                }
                Todo::Send {
                    name,
                    member,
                    key,
                    probe,
                } => match self.answer_here(&name, &probe) {
                    Some(own) => todos.extend(own),
                    None => self.probe(name, member, key, &probe),
                },
                Todo::Judge { cycle, wait } => {
                    #[cfg(any(test, feature = "test-util"))]
                    if let Some(witness) = self.witness() {
                        witness.deadlock(&cycle);
                    }
                    judge(cycle.hops(), &wait);
                }
            }
        }
        self.store.flush();
    }

    fn probe(&self, name: Name, to: MemberId, key: Ticket, probe: &Probe) {
        let text = seal::letter(self.member, &name, key, &probe.text()).into();
        let (id, op) = (self.request_id(), Op::Probe { to, text });
        // Errors can be ignored: the next round resends the message.
        let _ = self.store.submit(Request { name, op, id });
    }

    /// Answers a probe from this client to itself without sending it.
    fn answer_here(&self, name: &Name, probe: &Probe) -> Option<Vec<Todo>> {
        let Probe::Ask { round, tickets } = probe else {
            return None;
        };
        let local = self.register.find(name)?;
        let waits = |ticket| local.waits_with(ticket);
        if tickets.iter().any(|ticket| waits(*ticket).is_none()) {
            return None;
        }
        let waits = |ticket| waits(ticket) == Some(true);
        let answer = self.detector.answer(*round, tickets, waits);
        Some(self.detector.answered(answer, clock::now()))
    }

    /// `false` if the answer belongs to no search.
    pub(super) fn takes_for_search(&self, answer: &Answer) -> bool {
        match answer.request.op {
            Op::Probe { .. } => true,
            Op::Inspect { above } => {
                let todos = self.inspected(answer, above);
                todos.map(|todos| self.carry_out(todos)).is_some()
            }
            _ => false,
        }
    }

    fn inspected(&self, answer: &Answer, above: u32) -> Option<Vec<Todo>> {
        let round = wait::lock(&self.inspections).remove(&answer.request.id)?;
        let Ok(Reply::Info(record)) = &answer.result else {
            return Some(Vec::new());
        };
        let asked = (&answer.request.name, above);
        Some(self.detector.inspected(round, asked, record, clock::now()))
    }

    pub(super) fn probed(&self, name: &Name, from: MemberId, text: &str) {
        let (now, local) = (clock::now(), self.register.find(name));
        let own = |public| local.as_ref()?.ticket(public);
        let probe = text.split_once(' ').and_then(|(_, text)| Probe::read(text));
        // Other members that search may know our ticket, too, but only we answer for it.
        let known = |public| match probe {
            Some(Probe::Answer(_)) => self.detector.ticket(public),
            _ => own(public),
        };
        let Some(key) = seal::open_letter(from, name, text, known) else {
            return wait::tell(|| {
                tracing::debug!("a question or an answer about an unknown ticket was ignored");
            });
        };
        match probe {
            Some(Probe::Ask { round, mut tickets }) => {
                if !self.detector.is_new(from, round, &tickets) {
                    return;
                }
                for ticket in &mut tickets {
                    *ticket = own(ticket.public()).unwrap_or(*ticket);
                }
                let waits = |ticket| local.as_ref()?.waits_with(ticket);
                let waits = |ticket| waits(ticket) == Some(true);
                let answer = self.detector.answer(round, &tickets, waits);
                for part in answer.parts() {
                    self.probe(name.clone(), from, key, &Probe::Answer(part));
                }
                self.store.flush();
            }
            Some(Probe::Answer(answer)) => self.carry_out(self.detector.answered(answer, now)),
            Some(Probe::Search { wait }) => self.carry_out(self.detector.search(wait, now)),
            None => wait::tell(|| {
                tracing::debug!("a message of another client is not valid and was ignored");
            }),
        }
    }
}

fn judge(cycle: Vec<DeadlockHop>, wait: &TaskWait) {
    let error = LockError::Deadlock { cycle };
    let fails = wait.mode == Deadlock::Fail;
    let report = error.clone();
    wait::tell(move || {
        tracing::warn!(target: ACQUIRE, deadlock = %report, fails, "a deadlock: these calls wait for each other");
    });
    if fails {
        wait.fail(error);
    }
}
