//! Some names, each with two states: one by the rules, and one of the subject.

use std::collections::HashSet;

use auto_mutex_seam::store::{Env, LIMITS, MemberId, Name, Op, Reply, State};

use super::{Outcome, Request, Subject};

pub(super) struct Both<'a, S: Subject> {
    subject: &'a mut S,
    names: Vec<(Name, State)>,
    listening: HashSet<MemberId>,
    /// Nothing is granted before this time.
    opens: u64,
}

/// The state of a name at some time, by the rules and of the subject.
pub(super) struct Snapshot<K> {
    state: State,
    kept: K,
}

/// Executes an operation by the rules.
pub fn apply(state: &mut State, listening: &HashSet<MemberId>, request: &Request<'_>) -> Outcome {
    let Request {
        now,
        opens,
        member,
        op,
        ..
    } = *request;
    let hears = |member| listening.contains(&member);
    let env = Env {
        now,
        grants_from: opens,
        member,
        limits: &LIMITS,
        hears: &hears,
    };
    let mut messages = Vec::new();
    let reply = state.on(op, &env, &mut messages);
    messages.retain(|(to, _)| hears(*to));
    let info = state.inspect(now, 0, &LIMITS);
    Outcome {
        reply,
        messages,
        info,
        form: String::new(),
    }
}

impl<'a, S: Subject> Both<'a, S> {
    pub(super) fn new(subject: &'a mut S, names: usize) -> Self {
        subject.reset();
        let name = |index| Name::from_escaped(&format!("difference:%7B{index}%7D"));
        let names = (0..names).map(|index| (name(index), State::default()));
        Self {
            subject,
            names: names.collect(),
            listening: HashSet::new(),
            opens: 0,
        }
    }

    pub(super) fn listen(&mut self, member: MemberId, listens: bool) {
        let changed = match listens {
            true => self.listening.insert(member),
            false => self.listening.remove(&member),
        };
        if changed {
            self.subject.listen(member, listens);
        }
    }

    /// Grants nothing before the time `opens` from now on.
    pub(super) fn close_until(&mut self, opens: u64) {
        self.opens = opens;
    }

    /// Returns the outcomes by the rules and of the subject.
    pub(super) fn apply(
        &mut self,
        now: u64,
        index: usize,
        member: MemberId,
        op: &Op,
        spread: bool,
    ) -> (Outcome, Outcome) {
        let (name, state) = &mut self.names[index];
        let request = Request {
            now,
            opens: self.opens,
            name,
            member,
            op,
            spread,
        };
        let model = apply(state, &self.listening, &request);
        let found = self.subject.apply(&request);
        (model.comparable(), found.comparable())
    }

    /// Executes a release and an acquire as one. Returns by the rules and of the subject: the reply to the release, and
    /// the outcome of the acquire with the messages of both operations.
    pub(super) fn pair(
        &mut self,
        now: u64,
        index: usize,
        member: MemberId,
        ops: [&Op; 2],
    ) -> [(Reply, Outcome); 2] {
        let (name, state) = &mut self.names[index];
        let [release, acquire] = ops.map(|op| Request {
            now,
            opens: self.opens,
            name,
            member,
            op,
            spread: false,
        });
        let first = apply(state, &self.listening, &release);
        let mut last = apply(state, &self.listening, &acquire);
        last.messages.splice(0..0, first.messages);
        let found = self.subject.pair(&release, &acquire);
        [
            (first.reply, last.comparable()),
            (found.0, found.1.comparable()),
        ]
    }

    pub(super) fn keep(&mut self, index: usize) -> Snapshot<S::Kept> {
        let (name, state) = &self.names[index];
        Snapshot {
            state: state.clone(),
            kept: self.subject.keep(name),
        }
    }

    pub(super) fn lose(&mut self, index: usize) {
        let (name, state) = &mut self.names[index];
        self.subject.lose(name);
        *state = State::default();
    }

    pub(super) fn restore(&mut self, index: usize, snapshot: &Snapshot<S::Kept>) {
        let (name, state) = &mut self.names[index];
        self.subject.lose(name);
        self.subject.restore(name, &snapshot.kept);
        *state = snapshot.state.clone();
    }

    /// Checks what is left of a name.
    pub(super) fn check_rest(&mut self, index: usize, token: u64) {
        self.subject.check_rest(&self.names[index].0, token);
    }

    /// Ends the run.
    pub(super) fn end(mut self) {
        for member in self.listening.clone() {
            self.listen(member, false);
        }
    }
}
