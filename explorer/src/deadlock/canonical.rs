//! The canonical form: worlds that behave alike become equal. Tokens are numbered in their order, and names, tickets
//! and waits in the order in which tasks have them. What can never count again is forgotten.

use std::collections::BTreeMap;
use std::mem::{replace, take};

use auto_mutex_protocol::deadlock::{Effect, Probe, SearchVisitor, Searches, WaitId};
use auto_mutex_protocol::{Instant, State, TOKENS_OF_A_GRANT, Ticket, Visitor};

use super::rules::{LATER, LEASE, PARK, Setup};
use super::world::{PRESENT, World};
use crate::name::world::fingerprint;

impl World {
    /// Brings the world into its canonical form.
    pub fn canonical(&mut self, rules: &Setup) {
        self.forget(rules);
        let mut names = Names::default();
        self.visit_tasks(&mut names);
        for name in rules.names() {
            let record = self.record(name, rules);
            for mut record in record.holders.into_iter().chain(record.waiters) {
                names.name(&mut name.clone());
                names.ticket(&mut record.ticket);
            }
        }
        self.visit_rest(&mut names);
        names.number(rules);
        let mut rename = Rename {
            names: &names,
            now: self.now,
            places: None,
        };
        self.visit_tasks(&mut rename);
        for state in &mut self.names {
            rename.store(state);
        }
        self.visit_rest(&mut rename);
        let old = (take(&mut self.names), take(&mut self.waiting));
        let mut both: Vec<_> = rules.names().zip(old.0.into_iter().zip(old.1)).collect();
        both.sort_by_key(|(name, _)| names.names[name]);
        for (_, (state, mut waiting)) in both {
            // Their order counts only within a member.
            waiting.sort_by_key(|task| rules.member(*task));
            self.names.push(state);
            self.waiting.push(waiting);
        }
        self.questions.sort_by_cached_key(fingerprint);
        self.past.between.sort();
        self.last = [names.tickets.len(), names.waits.len()].map(|count| count as u64);
        self.now = PRESENT;
    }

    fn forget(&mut self, rules: &Setup) {
        let now = self.now;
        self.names.iter_mut().for_each(|state| state.forget(now));
        let mut known: Vec<Ticket> = Vec::new();
        for name in rules.names() {
            let record = self.record(name, rules);
            let records = record.holders.iter().chain(&record.waiters);
            known.extend(records.map(|record| record.ticket));
        }
        // Nobody asks about a ticket that is no more.
        for task in &mut self.tasks {
            let holds = &mut task.holds;
            holds.retain(|hold| !hold.ended || known.contains(&hold.ticket));
        }
        if let Some(copy) = &self.copy {
            known.extend(copy.holds.iter().map(|hold| hold.ticket));
            known.extend(copy.waiting.iter().chain(&copy.free));
        }
        if rules.patient {
            self.searches.forget_dropped();
        }
        loop {
            let mut searches = replace(&mut self.searches, Searches::new(0));
            searches.forget(|ticket| known.contains(&ticket), |wait| self.waits(wait));
            self.searches = searches;
            if !self.searches.is_in_vain(|wait| self.waits(wait)) {
                break;
            }
            self.end_pass(rules);
        }
        let pass = self.searches.pass();
        self.questions
            .retain_mut(|question| pass_of(question).map(|it| *it) == pass);
        if pass.is_none() {
            self.copy = None;
        }
        if !self.searches.confirms() {
            self.past.between.clear();
        }
        if self.past.verdict.is_some() {
            // Nothing follows.
            *self = Self {
                past: take(&mut self.past),
                ..Self::new(rules)
            };
        }
    }

    fn visit_tasks(&mut self, visitor: &mut impl SearchVisitor<u8>) {
        for task in &mut self.tasks {
            for hold in &mut task.holds {
                visitor.name(&mut hold.name);
                visitor.ticket(&mut hold.ticket);
                visitor.token(&mut hold.token);
            }
            if let Some(wait) = &mut task.wait {
                visitor.name(&mut wait.name);
                visitor.wait(&mut wait.id);
            }
        }
    }

    fn visit_rest(&mut self, visitor: &mut impl SearchVisitor<u8>) {
        self.searches.visit(visitor);
        for question in &mut self.questions {
            if let Some(pass) = pass_of(question) {
                visitor.pass(pass);
            }
            match question {
                Effect::View { wait, .. } => visitor.wait(wait),
                Effect::Inspect { name, .. } => visitor.name(name),
                Effect::Send {
                    name,
                    key,
                    probe: Probe::Ask { tickets, .. },
                    ..
                } => {
                    visitor.name(name);
                    tickets.iter_mut().for_each(|ticket| visitor.ticket(ticket));
                    tickets.sort_unstable();
                    *key = tickets[0];
                }
                _ => {}
            }
        }
        if let Some(copy) = &mut self.copy {
            copy.visit(visitor);
        }
        for stuck in &mut self.past.between {
            visitor.wait(&mut stuck.wait);
            stuck.chosen.iter_mut().for_each(|wait| visitor.wait(wait));
            stuck
                .tokens
                .iter_mut()
                .for_each(|token| visitor.token(token));
        }
    }
}

fn pass_of(question: &mut Effect<u8>) -> Option<&mut u64> {
    match question {
        Effect::View { pass, .. } | Effect::Inspect { pass, .. } => Some(pass),
        Effect::Send {
            probe: Probe::Ask { pass, .. },
            ..
        } => Some(pass),
        _ => None,
    }
}

/// What there is, in the order of its first appearance, and its new names.
#[derive(Default)]
struct Names {
    seen: Vec<u8>,
    names: BTreeMap<u8, u8>,
    tickets: Vec<Ticket>,
    waits: Vec<WaitId>,
    tokens: Vec<u64>,
    passes: Vec<u64>,
}

impl Names {
    fn number(&mut self, rules: &Setup) {
        self.tokens.sort_unstable();
        self.passes.sort_unstable();
        // Only names of the same capacity are alike.
        rules.names().for_each(|mut name| self.name(&mut name));
        let mut free: Vec<_> = rules.names().collect();
        for old in &self.seen {
            let is_alike = |new: &u8| rules.capacity(*new) == rules.capacity(*old);
            if let Some(index) = free.iter().position(is_alike) {
                self.names.insert(*old, free.remove(index));
            }
        }
    }
}

fn note<T: Copy + PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Its number, from 1.
fn place<T: PartialEq>(all: &[T], one: &T) -> u64 {
    let place = all.iter().position(|other| other == one);
    place.map_or(0, |place| place as u64 + 1)
}

impl Visitor for Names {
    fn token(&mut self, token: &mut u64) {
        note(&mut self.tokens, *token);
    }

    fn ticket(&mut self, ticket: &mut Ticket) {
        note(&mut self.tickets, *ticket);
    }
}

impl SearchVisitor<u8> for Names {
    fn name(&mut self, name: &mut u8) {
        note(&mut self.seen, *name);
    }

    fn wait(&mut self, wait: &mut WaitId) {
        note(&mut self.waits, *wait);
    }

    fn pass(&mut self, pass: &mut u64) {
        note(&mut self.passes, *pass);
    }
}

/// The places of a store: each waiter's comes twice.
#[derive(Default)]
struct Places(Vec<u64>);

impl Visitor for Places {
    fn place(&mut self, place: &mut u64) {
        self.0.push(*place);
    }
}

struct Rename<'a> {
    names: &'a Names,
    now: u64,
    /// The places of the waiters, in a store.
    places: Option<Vec<u64>>,
}

impl Rename<'_> {
    fn store(&mut self, state: &mut State) {
        let mut places = Places::default();
        state.visit(&mut places);
        let mut all = places.0.split_off(1);
        all.sort_unstable();
        let twice = all.windows(2).filter(|two| two[0] == two[1]);
        self.places = Some(twice.map(|two| two[0]).collect());
        state.visit(self);
        self.places = None;
    }
}

impl Visitor for Rename<'_> {
    fn instant(&mut self, at: &mut Instant) {
        *at = LATER;
    }

    fn server_time(&mut self, at: &mut u64) {
        let left = at.saturating_sub(self.now);
        let lasts = [LEASE, PARK].map(|time| time.as_micros() as u64);
        *at = match *at {
            0 => 0,
            _ if left > lasts[1] => PRESENT + lasts[0],
            _ if left > 0 => PRESENT + lasts[1],
            _ => PRESENT,
        };
    }

    fn place(&mut self, at: &mut u64) {
        *at = self.places.as_ref().map_or(0, |all| place(all, at));
    }

    fn token(&mut self, token: &mut u64) {
        *token = match self.places {
            // The next one is greater, whatever this one is.
            Some(_) => (*token).min(1),
            None => place(&self.names.tokens, token) * TOKENS_OF_A_GRANT,
        };
    }

    fn counter(&mut self, _: Ticket, counter: &mut u64) {
        *counter = 1;
    }

    fn ticket(&mut self, ticket: &mut Ticket) {
        *ticket = Ticket::of_public(place(&self.names.tickets, ticket));
    }
}

impl SearchVisitor<u8> for Rename<'_> {
    fn name(&mut self, name: &mut u8) {
        *name = self.names.names[name];
    }

    fn wait(&mut self, wait: &mut WaitId) {
        *wait = Ticket::of_public(place(&self.names.waits, wait));
    }

    fn pass(&mut self, pass: &mut u64) {
        *pass = place(&self.names.passes, pass);
    }
}
