//! The client's part in the search for deadlocks: carries out what its [`Searches`](crate::deadlock::Searches) ask for.

use std::collections::VecDeque;

use auto_mutex_protocol::deadlock::{Env, Question};

use super::ClientCore;
use crate::base::clock::{self, Instant};
use crate::base::error::{DeadlockHop, LockError};
use crate::base::name::Name;
use crate::base::wait;
use crate::deadlock::{self, Effect, Input, Probe, hops};
use crate::observe::ACQUIRE;
use crate::queue::waits::{self, TaskWait};
use crate::store::{Answer, MemberId, Op, Reply, Request, Ticket, jittered, seal};

impl ClientCore {
    pub(in crate::queue) fn look_for_deadlock(&self, wait: &TaskWait) {
        let (wait, after) = (wait.id, self.settings.deadlock_after);
        self.search(Input::Waits { wait, after });
        // If it is due later, the background thread wakes in time anyway.
        if after < super::NAP {
            self.timers.interrupt();
        }
    }

    pub(super) fn search_for_deadlocks(&self, now: Instant) -> Option<Instant> {
        let next = || wait::lock(&self.searches).next();
        if next()? <= now {
            self.search(Input::Due);
        }
        next()
    }

    fn search(&self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        let mut sends = false;
        while let Some(input) = inputs.pop_front() {
            let mut effects = Vec::new();
            let env = Env {
                now: clock::now(),
                limits: self.limits,
                jittered: &jittered,
            };
            wait::lock(&self.searches).on(input, &env, &mut effects);
            sends |= !effects.is_empty();
            for effect in effects {
                inputs.extend(self.carry_out(effect));
            }
        }
        if sends {
            self.store.flush();
        }
    }

    /// Returns the answer, if it comes at once.
    fn carry_out(&self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::View { pass, wait } => {
                let holds = waits::holds_of(wait, self.id, &*self.settings.engine);
                Some(Input::Viewed { pass, wait, holds })
            }
            Effect::Inspect { pass, name, above } => {
                let (id, op) = (self.request_id(), Op::Inspect { above });
                wait::lock(&self.inspections).insert(id, pass);
                let answer = self.store.submit(Request { name, op, id })?;
                wait::lock(&self.inspections).remove(&id);
                inspected(pass, &answer, above)
            }
            Effect::Send {
                name,
                member,
                key,
                probe,
            } => {
                let own = self.answer_here(&name, &probe);
                if own.is_none() {
                    self.probe(name, member, key, &probe);
                }
                own
            }
            Effect::Answer(question) => {
                self.answer(question);
                None
            }
            Effect::Report { wait, cycle } => {
                let wait = waits::find(self.id, wait)?;
                if let Some(witness) = self.witness() {
                    witness.deadlock(&cycle);
                }
                report(hops(&cycle), &wait);
                None
            }
        }
    }

    fn probe(&self, name: Name, to: MemberId, key: Ticket, probe: &Probe) {
        let text = seal::letter(self.member, &name, key, &probe.text()).into();
        let (id, op) = (self.request_id(), Op::Probe { to, text });
        // Errors can be ignored: the next pass resends the message.
        let _ = self.store.submit(Request { name, op, id });
    }

    /// Answers a question from this client to itself without sending it.
    fn answer_here(&self, name: &Name, probe: &Probe) -> Option<Input> {
        let Probe::Ask { pass, tickets } = probe else {
            return None;
        };
        let is_own = |ticket: &Ticket| self.waits_with(name, *ticket).is_some();
        tickets
            .iter()
            .all(is_own)
            .then(|| Input::Answered(self.answer_to(*pass, name, tickets)))
    }

    fn answer(&self, question: Question<Name>) {
        let Question {
            name,
            from,
            key,
            pass,
            mut tickets,
        } = question;
        for ticket in &mut tickets {
            *ticket = self.own(&name, ticket.public()).unwrap_or(*ticket);
        }
        let answer = self.answer_to(pass, &name, &tickets);
        for part in answer.parts() {
            self.probe(name.clone(), from, key, &Probe::Answer(part));
        }
    }

    fn answer_to(&self, pass: u64, name: &Name, tickets: &[Ticket]) -> deadlock::Answer {
        let hold = |ticket| waits::waits_of(self.id, &*self.settings.engine, ticket);
        let waits = |ticket| self.waits_with(name, ticket) == Some(true);
        deadlock::Answer::to(pass, tickets, hold, waits)
    }

    /// Whether this client's ticket waits; `None` if it has no such ticket.
    fn waits_with(&self, name: &Name, ticket: Ticket) -> Option<bool> {
        let local = self.register.find_ticket(name, Some(ticket.public()))?;
        local.lock().state.waits_with(ticket)
    }

    /// This client's ticket with this public half.
    pub(super) fn own(&self, name: &Name, public: u64) -> Option<Ticket> {
        let local = self.register.find_ticket(name, Some(public))?;
        local.lock().state.ticket(public)
    }

    /// `false` if the answer belongs to no search.
    pub(super) fn takes_for_search(&self, answer: &Answer) -> bool {
        match answer.request.op {
            Op::Probe { .. } => true,
            Op::Inspect { above } => {
                let pass = wait::lock(&self.inspections).remove(&answer.request.id);
                let input = pass.and_then(|pass| inspected(pass, answer, above));
                input.into_iter().for_each(|input| self.search(input));
                pass.is_some()
            }
            _ => false,
        }
    }

    pub(super) fn probed(&self, name: &Name, from: MemberId, text: &str) {
        let probe = text.split_once(' ');
        let probe = probe.and_then(|(_, text)| Probe::read(text, Name::from_escaped));
        // Other members that search may know our ticket, too, but only we answer for it.
        let known = |public| match probe {
            Some(Probe::Answer(_)) => wait::lock(&self.searches).ticket(public),
            _ => self.own(name, public),
        };
        let Some(key) = seal::open_letter(from, name, text, known) else {
            return wait::tell(|| {
                tracing::debug!(target: ACQUIRE, "a question or an answer about an unknown ticket was ignored");
            });
        };
        match probe {
            Some(Probe::Ask { pass, tickets }) => self.search(Input::Asked(Question {
                name: name.clone(),
                from,
                key,
                pass,
                tickets,
            })),
            Some(Probe::Answer(answer)) => self.search(Input::Answered(answer)),
            Some(Probe::Search { wait }) => self.search(Input::Urged(wait)),
            None => wait::tell(|| {
                tracing::debug!(target: ACQUIRE, "a message of another client is not valid and was ignored");
            }),
        }
    }
}

/// `None` if the store has failed.
fn inspected(pass: u64, answer: &Answer, above: u32) -> Option<Input> {
    let Ok(Reply::Info(record)) = &answer.result else {
        return None;
    };
    Some(Input::Inspected {
        pass,
        name: answer.request.name.clone(),
        above,
        record: record.clone(),
    })
}

fn report(cycle: Vec<DeadlockHop>, wait: &TaskWait) {
    let error = LockError::of_cycle(cycle);
    let fails = wait.fails();
    let report = error.clone();
    wait::tell(move || {
        tracing::warn!(target: ACQUIRE, deadlock = %report, fails, "a deadlock: these calls wait for each other");
    });
    if fails {
        wait.fail(error);
    }
}
