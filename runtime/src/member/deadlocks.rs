//! The client's part in the search for deadlocks: it carries out what its [`Detector`](crate::deadlock::Detector) asks for,
//! answers other clients, and ends or reports the deadlocks that are its to end.

use std::sync::Arc;

use super::{ClientCore, NameQueue};
use crate::clock::Instant;
use crate::config::Endpoint;
use crate::deadlock::{Answer as ProbeAnswer, Deadlock, Probe, TaskWait, Todo, Verdict, answer};
use crate::error::LockError;
use crate::name::Name;
use crate::observe::ACQUIRE;
use crate::store::{Answer, MemberId, Op, Reply, Request, RequestId, Ticket};
use crate::wait;

impl<Q: NameQueue> ClientCore<Q> {
    /// A wait of a task that holds locks has begun.
    pub(crate) fn look_for_deadlock(&self, wait: &Arc<TaskWait>) {
        let after = self.settings.deadlock_after;
        let due = self.detector.add(wait, Instant::now(), after);
        // The engine looks at the clock at least once in this time anyway.
        if due < Instant::now().after(super::NAP) {
            self.timers.interrupt();
        }
    }

    /// Begins and ends the searches that are due; returns when the next one is.
    pub(super) fn search_for_deadlocks(&self, now: Instant) -> Option<Instant> {
        let next = self.detector.next()?;
        if next > now {
            return Some(next);
        }
        let todos = self.detector.tick(self.id, self.endpoint(), now);
        self.carry_out(todos);
        self.detector.next()
    }

    fn endpoint(&self) -> &Endpoint {
        &self.settings.endpoint
    }

    fn carry_out(&self, mut todos: Vec<Todo>) {
        while let Some(todo) = todos.pop() {
            match todo {
                Todo::Inspect { round, name } => {
                    let id = self.request_id();
                    wait::lock(&self.inspections).insert(id, round);
                    let answer = self.send(id, name, Op::Inspect);
                    todos.extend(
                        answer
                            .into_iter()
                            .flat_map(|answer| self.inspected(&answer)),
                    );
                }
                Todo::Send {
                    name,
                    member,
                    probe,
                } => {
                    if let Some(own) = self.answer_here(&name, &probe) {
                        todos.extend(own);
                        continue;
                    }
                    self.probe(name, member, &probe);
                }
                Todo::Judge(verdict) => judge(&verdict),
            }
        }
        self.store.flush();
    }

    /// Asks the store. The result is an answer that came at once.
    fn send(&self, id: RequestId, name: Name, op: Op) -> Option<Answer> {
        self.store.submit(Request { name, op, id })
    }

    fn probe(&self, name: Name, to: MemberId, probe: &Probe) {
        let text = probe.text().into();
        // A message that is lost is sent again by the next round.
        let _ = self.send(self.request_id(), name, Op::Probe { to, text });
    }

    /// Answers a question that this client would ask itself.
    fn answer_here(&self, name: &Name, probe: &Probe) -> Option<Vec<Todo>> {
        let Probe::Ask { round, tickets } = probe else {
            return None;
        };
        let local = self.register.find(name)?;
        if !tickets.iter().all(|ticket| local.knows(*ticket)) {
            return None;
        }
        let answer = self.answer_about(Some(&local), *round, tickets);
        Some(
            self.detector
                .answered(&answer, (self.id, self.endpoint()), Instant::now()),
        )
    }

    fn answer_about(&self, local: Option<&Arc<Q>>, round: u64, tickets: &[Ticket]) -> ProbeAnswer {
        let waits = |ticket| local.is_some_and(|local| local.waits_with(ticket));
        answer(self.id, self.endpoint(), (round, tickets), waits)
    }

    /// Whether the answer belongs to a search. Then it is dealt with.
    pub(super) fn is_for_search(&self, answer: &Answer) -> bool {
        match answer.request.op {
            Op::Probe { .. } => true,
            Op::Inspect if wait::lock(&self.inspections).contains_key(&answer.request.id) => {
                let todos = self.inspected(answer);
                self.carry_out(todos);
                true
            }
            _ => false,
        }
    }

    fn inspected(&self, answer: &Answer) -> Vec<Todo> {
        let round = wait::lock(&self.inspections).remove(&answer.request.id);
        let (Some(round), Ok(Reply::Info(record))) = (round, &answer.result) else {
            return Vec::new();
        };
        let about = (&answer.request.name, record);
        let client = (self.id, self.endpoint());
        self.detector
            .inspected(round, about, client, Instant::now())
    }

    /// A message of another client about `name`.
    pub(super) fn probed(&self, name: &Name, from: MemberId, text: &str) {
        let client = (self.id, self.endpoint());
        match Probe::read(text) {
            Some(Probe::Ask { round, tickets }) => {
                if !self.detector.is_new(from, round, name) {
                    return;
                }
                let local = self.register.find(name);
                let answer = self.answer_about(local.as_ref(), round, &tickets);
                self.probe(name.clone(), from, &Probe::Answer(answer));
                self.store.flush();
            }
            Some(Probe::Answer(answer)) => {
                let todos = self.detector.answered(&answer, client, Instant::now());
                self.carry_out(todos);
            }
            Some(Probe::Search { wait }) => {
                let todos = self.detector.search(wait, client, Instant::now());
                self.carry_out(todos);
            }
            None => wait::tell(|| {
                tracing::debug!("a message of another client is not valid and was ignored");
            }),
        }
    }
}

/// Reports a deadlock, and ends it if its client asks for that.
fn judge(verdict: &Verdict) {
    let Verdict { cycle, wait } = verdict;
    let hops = cycle.hops();
    let error = LockError::Deadlock { cycle: hops };
    let fails = wait.mode() == Deadlock::Fail;
    let report = error.clone();
    wait::tell(move || {
        tracing::warn!(target: ACQUIRE, deadlock = %report, fails, "a deadlock: these calls wait for each other");
    });
    if fails {
        wait.fail(error);
    }
}
