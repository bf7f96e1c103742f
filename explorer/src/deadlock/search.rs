//! What surrounds the search of a client: it carries out what the search asks for, and judges what it finds.

use core::time::Duration;
use std::collections::BTreeMap;

use auto_mutex_protocol::deadlock::{
    self, Answer, Effect, Env, Input, Nested, Probe, Question, Searches, WaitId, WaitingHold,
};
use auto_mutex_protocol::{
    Instant, LIMITS, Limits, MemberId, Message, Op, SharedStr, State, Ticket,
};

use super::rules::{LATER, NOW, Setup};
use super::truth::stuck_tasks;
use super::world::{Action, SEARCHER, World, id, number};

/// What the search does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    /// Who was deadlocked when the search began its second pass.
    pub between: Vec<Stuck>,
    /// What has become of the search.
    pub verdict: Option<Verdict>,
}

/// A task that never ends its wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stuck {
    /// The wait.
    pub wait: WaitId,
    /// The tokens of its holds.
    pub tokens: Vec<u64>,
    /// The wait that a search for this one would choose.
    pub chosen: Option<WaitId>,
}

/// What is to be said about a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The deadlock was real, and has this number of holds.
    True(usize),
    /// Another call was chosen.
    Sent,
    /// A part of the deadlock did not exist, or could end.
    False,
    /// Another task of this deadlock would choose another call.
    Split,
}

/// What a search has found.
struct Found {
    chosen: WaitId,
    /// The token and the wait of each hold, if this client reports the deadlock.
    steps: Vec<(u64, WaitId)>,
}

/// What a member reads that hears a probe from the store: a sealed letter, on a channel that others can use, too.
fn as_heard(name: u8, probe: &Probe<u8>, (from, to): (u8, u8), key: Ticket) -> Probe<u8> {
    let (from, place) = (id(from), name.to_string());
    let text = key.seal_letter(from, &place, &probe.text());
    let (to, text) = (id(to), text.into());
    let env = auto_mutex_protocol::Env {
        now: 0,
        grants_from: 0,
        member: from,
        limits: &LIMITS,
        hears: &|_| true,
    };
    let mut messages = Vec::new();
    State::default().on(&Op::Probe { to, text }, &env, &mut messages);
    let text = messages[0].1.text(&place);
    let Some((_, Message::Probe { from, text })) = Message::parse(&text) else {
        panic!("no message: {text}");
    };
    let other = Ticket::of_public(key.public() + 1);
    assert!(key.has_sealed(from, &place, &text) && !other.has_sealed(from, &place, &text));
    let (_, letter) = text.split_once(' ').expect("a sealed letter");
    let name = |name: &str| name.parse().expect("the number of a name");
    Probe::read(letter, name).expect("a probe")
}

impl World {
    pub(super) fn enabled_searching(&self, rules: &Setup, actions: &mut Vec<Action>) {
        if self.searches.pass().is_none() {
            actions.extend(self.searches.is_due().then_some(Action::Search));
            return;
        }
        for (index, question) in self.questions.iter().enumerate() {
            let index = index as u8;
            if self.is_silent(question, rules) {
                continue;
            }
            actions.push(Action::Answer(index, false));
            let is_sent = matches!(question, Effect::Send { .. });
            if is_sent && rules.copies && !self.searches.confirms() && self.copy.is_none() {
                actions.push(Action::Answer(index, true));
            }
        }
        if self.searches.confirms() && self.copy.is_some() {
            actions.push(Action::Copy);
        }
        actions.push(Action::EndPass);
    }

    pub(super) fn search_on(&mut self, action: Action, rules: &Setup) {
        match action {
            Action::Search | Action::EndPass => self.input(Input::Due, LATER, rules),
            Action::Answer(index, copy) => {
                let question = self.questions.remove(index.into());
                let input = self.answer(question, rules);
                if let (true, Input::Answered(answer)) = (copy, &input) {
                    self.copy = Some(answer.clone());
                }
                self.input(input, NOW, rules);
            }
            Action::Copy => {
                if let Some(answer) = self.copy.take() {
                    self.input(Input::Answered(answer), NOW, rules);
                }
            }
            _ => {}
        }
    }

    pub(super) fn begin_wait(&mut self, wait: WaitId, rules: &Setup) {
        let after = Duration::from_secs(1);
        self.input(Input::Waits { wait, after }, NOW, rules);
    }

    pub(super) fn end_pass(&mut self, rules: &Setup) {
        self.input(Input::Due, LATER, rules);
    }

    fn input(&mut self, input: Input<u8>, now: Instant, rules: &Setup) {
        let before = self.searches.pass().filter(|_| self.searches.confirms());
        let mut found = None;
        for effect in on(&mut self.searches, input, now, &rules.limits) {
            found = self.carry_out(effect).or(found);
        }
        let confirms = self.searches.pass().filter(|_| self.searches.confirms());
        if confirms.is_some() && confirms != before {
            self.past.between = self.stuck(rules);
        }
        // A report about a wait that is over reaches nobody.
        if let Some(found) = found.filter(|it| it.steps.is_empty() || self.waits(it.chosen)) {
            self.past.verdict = Some(self.judge(&found, rules));
        }
    }

    /// What a search has found, if it asks nothing.
    fn carry_out(&mut self, effect: Effect<u8>) -> Option<Found> {
        let found = found(&effect);
        if found.is_none() {
            self.questions.push(effect);
        }
        found
    }

    /// Whether a dead member is asked.
    fn is_silent(&self, question: &Effect<u8>, rules: &Setup) -> bool {
        matches!(question, Effect::Send { member, .. } if self.is_dead(number(*member), rules))
    }

    /// The present answer to a question.
    fn answer(&self, question: Effect<u8>, rules: &Setup) -> Input<u8> {
        match question {
            Effect::View { pass, wait } => Input::Viewed {
                pass,
                wait,
                holds: self.holds_of(wait, rules),
            },
            Effect::Inspect { pass, name, above } => Input::Inspected {
                pass,
                name,
                above,
                record: self.names[usize::from(name)].inspect(self.now, above, &rules.limits),
            },
            Effect::Send {
                name,
                member,
                key,
                probe: asked @ Probe::Ask { .. },
            } => {
                let (from, to) = (SEARCHER, number(member));
                let Probe::Ask { pass, tickets } = as_heard(name, &asked, (from, to), key) else {
                    panic!("no question: {asked:?}");
                };
                let record = self.record(name, rules);
                let waits = |ticket| record.waiters.iter().any(|it| it.ticket == ticket);
                let hold = |ticket| self.hold_of(ticket, number(member), rules);
                let answer = Answer::to(pass, &tickets, hold, waits);
                let answer = answer.parts().swap_remove(0);
                match as_heard(name, &Probe::Answer(answer), (to, from), key) {
                    Probe::Answer(answer) => Input::Answered(answer),
                    other => panic!("no answer: {other:?}"),
                }
            }
            other => panic!("no question: {other:?}"),
        }
    }

    /// What a member says about a ticket.
    fn hold_of(&self, ticket: Ticket, member: u8, rules: &Setup) -> Option<WaitingHold<u8>> {
        let tasks = (0..self.tasks.len() as u8).filter(|task| rules.member(*task) == member);
        let nested = tasks.filter_map(|task| {
            let state = self.task(task);
            let mut holds = state.holds.iter();
            let hold = holds.find(|hold| hold.ticket == ticket)?;
            Some(Nested {
                hold: WaitingHold {
                    ticket,
                    token: hold.token,
                    units: hold.units,
                    held: Duration::ZERO,
                    meta: SharedStr::EMPTY,
                    waits: Vec::new(),
                },
                ended: hold.ended,
                wait: self.wait_of(task, rules),
            })
        });
        WaitingHold::of(nested)
    }

    fn wait_of(&self, task: u8, rules: &Setup) -> Option<deadlock::Wait<u8>> {
        let wait = self.task(task).wait?;
        let record = self.record(wait.name, rules);
        let mut waiters = record.waiters.iter();
        let own = waiters.find(|record| number(record.member) == rules.member(task));
        Some(deadlock::Wait {
            id: wait.id,
            name: wait.name,
            units: wait.units,
            after: own.map(|record| record.ticket),
            waited: Duration::ZERO,
            meta: SharedStr::EMPTY,
            fails: true,
        })
    }

    /// What a member says about the holds of one of its tasks that waits.
    fn holds_of(&self, wait: WaitId, rules: &Setup) -> Vec<WaitingHold<u8>> {
        let mut tasks = self.tasks.iter().zip(rules.members);
        let task = tasks.find(|(task, _)| task.wait.is_some_and(|it| it.id == wait));
        let holds = task.iter().flat_map(|(task, member)| {
            let holds = task.holds.iter();
            holds.filter_map(|hold| self.hold_of(hold.ticket, **member, rules))
        });
        holds.collect()
    }

    /// Whether the wait is not over.
    pub(super) fn waits(&self, wait: WaitId) -> bool {
        let mut waits = self.tasks.iter().filter_map(|task| task.wait);
        waits.any(|it| it.id == wait)
    }

    /// Who holds something and never ends its wait.
    fn stuck(&self, rules: &Setup) -> Vec<Stuck> {
        let stuck = stuck_tasks(self, rules).into_iter().filter_map(|task| {
            Some(Stuck {
                wait: self.task(task).wait?.id,
                tokens: self.task(task).held().map(|hold| hold.token).collect(),
                chosen: self.chosen_by(task, rules),
            })
        });
        stuck.collect()
    }

    /// The wait that a search of a task would choose during which nothing else happens and no answer is lost.
    pub fn chosen_by(&self, task: u8, rules: &Setup) -> Option<WaitId> {
        let wait = self.task(task).wait?.id;
        let (mut searches, after) = (Searches::new(1), Duration::from_secs(1));
        // It begins before its time, because another client has found that this wait must end a deadlock.
        let mut inputs = vec![Input::Urged(wait), Input::Waits { wait, after }];
        let mut others = BTreeMap::new();
        loop {
            let Some(input) = inputs.pop() else {
                searches.pass()?;
                // To end a pass without the answers of dead members.
                inputs.push(Input::Due);
                continue;
            };
            for effect in on(&mut searches, input, NOW, &rules.undisturbed) {
                match found(&effect) {
                    Some(found) => return Some(found.chosen),
                    None if self.is_silent(&effect, rules) => {}
                    None if is_repeated(&effect, &mut others, rules) => return None,
                    None => inputs.push(self.answer(effect, rules)),
                }
            }
        }
    }

    /// All parts of a deadlock must have been deadlocked at the same time. Passes that may be incomplete can choose
    /// another call than others.
    fn judge(&self, found: &Found, rules: &Setup) -> Verdict {
        // After a single pass, what counts is the present.
        let between = match self.past.between.is_empty() {
            true => self.stuck(rules),
            false => self.past.between.clone(),
        };
        let was_stuck = |(token, wait): &(u64, WaitId)| {
            let mut between = between.iter();
            between.any(|it| it.wait == *wait && it.tokens.contains(token))
        };
        let is_stuck = between.iter().any(|it| it.wait == found.chosen);
        if !is_stuck || !found.steps.iter().all(was_stuck) {
            return Verdict::False;
        }
        let of_deadlock = |it: &&Stuck| {
            it.wait == found.chosen || found.steps.iter().any(|step| step.1 == it.wait)
        };
        let agrees = |it: &Stuck| it.chosen == Some(found.chosen);
        if rules.one_victim() && !between.iter().filter(of_deadlock).all(agrees) {
            return Verdict::Split;
        }
        match found.steps.len() {
            0 => Verdict::Sent,
            holds => Verdict::True(holds),
        }
    }
}

fn on(
    searches: &mut Searches<u8>,
    input: Input<u8>,
    now: Instant,
    limits: &Limits,
) -> Vec<Effect<u8>> {
    let mut effects = Vec::new();
    let env = Env {
        now,
        limits,
        jittered: &|pause| pause,
    };
    searches.on(input, &env, &mut effects);
    effects
}

/// Whether the member that is asked takes the question for a copy of an earlier one, or a copy for another question.
fn is_repeated(
    effect: &Effect<u8>,
    others: &mut BTreeMap<MemberId, Searches<u8>>,
    rules: &Setup,
) -> bool {
    let Effect::Send {
        name,
        member,
        key,
        probe: Probe::Ask { pass, tickets },
    } = effect
    else {
        return false;
    };
    let question = Input::Asked(Question {
        name: *name,
        from: id(SEARCHER),
        key: *key,
        pass: *pass,
        tickets: tickets.clone(),
    });
    let other = others.entry(*member).or_insert(Searches::new(1));
    let mut answers = || on(other, question.clone(), NOW, &rules.limits).len();
    (answers(), answers()) != (1, 0)
}

fn found(effect: &Effect<u8>) -> Option<Found> {
    match effect {
        Effect::Report { wait, cycle } => {
            let steps = cycle.steps.iter();
            let steps = steps.map(|step| (step.hold.token, step.wait.id)).collect();
            let chosen = *wait;
            Some(Found { chosen, steps })
        }
        Effect::Send {
            probe: Probe::Search { wait: chosen },
            ..
        } => Some(Found {
            chosen: *chosen,
            steps: Vec::new(),
        }),
        _ => None,
    }
}
