//! The search of the first task: two rounds of questions. Each answer is a separate step.

use super::Id;
use super::graph::{Answer, Cycle, Graph, Known, KnownWait};
use super::rules::{Rules, Safeguard};
use super::truth::{Stuck, stuck};
use super::world::{Action, World};

/// The state of the search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Search {
    /// No search is in progress.
    Idle,
    /// A round is in progress.
    Round(Box<Round>),
    /// The search has reported a deadlock.
    Over(Verdict),
}

/// A round of questions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Round {
    /// The wait from which the search started.
    pub root: Id,
    /// In the second round: the answers of the first round.
    pub first: Option<Graph>,
    /// In the second round: whether every question of the first round was answered.
    pub answered: bool,
    /// The answers of this round so far.
    pub graph: Graph,
    /// A copy of an answer of the first round that is still in flight.
    pub copy: Option<(Id, Answer)>,
    /// The holds that were deadlocked between the rounds. (Only the checker uses this. The search does not know it.)
    pub between: Vec<Stuck>,
}

/// The checker's verdict on a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The deadlock was real, and has this number of holds.
    True(usize),
    /// A part of the reported deadlock did not exist, or could end.
    False,
    /// Another task of this deadlock would choose another call to fail.
    Split,
}

impl Round {
    /// Returns the names that the search still has to inspect.
    #[must_use]
    pub fn to_inspect(&self) -> Vec<usize> {
        let waits: Vec<usize> = self.graph.waits().map(|wait| wait.name).collect();
        let unknown = |name: &usize| waits.contains(name) && self.graph.names[*name].is_none();
        (0..self.graph.names.len()).filter(unknown).collect()
    }

    /// Returns the tickets that the search still has to ask about.
    #[must_use]
    pub fn to_ask(&self) -> Vec<Id> {
        let mut tickets: Vec<Id> = self
            .graph
            .waits()
            .flat_map(|wait| self.graph.in_the_way_of(&wait))
            .filter(|ticket| self.graph.answer(*ticket).is_none())
            .collect();
        tickets.sort_unstable();
        tickets.dedup();
        tickets
    }

    /// Returns the deadlock that the round has found.
    #[must_use]
    pub fn cycle(&self, rules: &Rules) -> Option<Cycle> {
        match &self.first {
            Some(first) => self.graph.and(first, rules).cycle(self.root, rules),
            None => self.graph.cycle(self.root, rules),
        }
    }
}

impl World {
    pub(super) fn enabled_searching(&self, rules: &Rules, actions: &mut Vec<Action>) {
        let round = match &self.search {
            Search::Round(round) => round,
            Search::Idle => {
                let first = &self.tasks[0];
                if first.wait.is_some() && !first.holds.is_empty() {
                    actions.push(Action::Begin);
                }
                return;
            }
            Search::Over(_) => return,
        };
        actions.extend(round.to_inspect().into_iter().map(Action::Inspect));
        for ticket in round.to_ask() {
            // A dead member does not answer.
            if self.answer(ticket, rules).is_some() {
                actions.push(Action::Ask(ticket, false));
                if rules.copies && round.first.is_none() && round.copy.is_none() {
                    actions.push(Action::Ask(ticket, true));
                }
            }
        }
        if round.first.is_some() && round.copy.is_some() {
            actions.push(Action::Copy);
        }
        // A round may end before all answers arrive. If it has found no deadlock, that has no effect.
        if round.cycle(rules).is_some() {
            actions.push(Action::EndRound);
        }
    }

    pub(super) fn search_on(&mut self, action: Action, rules: &Rules) {
        if action == Action::Begin {
            self.search = self.begin(0, rules).map_or(Search::Idle, Search::Round);
            return;
        }
        let mut round = match std::mem::replace(&mut self.search, Search::Idle) {
            Search::Round(round) => round,
            other => {
                self.search = other;
                return;
            }
        };
        match action {
            Action::Inspect(name) => round.graph.names[name] = Some(self.inspect(name, rules)),
            Action::Ask(ticket, copy) => {
                if let Some(answer) = self.answer(ticket, rules) {
                    round.graph.answers.push((ticket, answer));
                    round.copy = round.copy.or(copy.then_some((ticket, answer)));
                }
            }
            Action::Copy => {
                let copy = round.copy.take().filter(|(ticket, _)| {
                    // The copy answers a question of the first round. Without the rule `RoundNumber`, the second round
                    // accepts it if it is still asking the same question.
                    !rules.keeps(Safeguard::RoundNumber) && round.to_ask().contains(ticket)
                });
                round.graph.answers.extend(copy);
            }
            Action::EndRound => {
                self.search = self.end_round(*round, rules);
                return;
            }
            _ => {}
        }
        self.search = Search::Round(round);
    }

    fn end_round(&self, round: Round, rules: &Rules) -> Search {
        let answered = round.answered && round.to_inspect().is_empty() && round.to_ask().is_empty();
        if round.first.is_none() && rules.keeps(Safeguard::TwoRounds) {
            let Some(mut second) = self.begin(0, rules) else {
                return Search::Idle;
            };
            second.between = stuck(self, rules);
            second.first = Some(round.graph);
            second.copy = round.copy;
            second.answered = answered;
            return Search::Round(second);
        }
        round.cycle(rules).map_or(Search::Idle, |cycle| {
            // A deadlock found without some answer is real, but another search decides which call fails.
            let settled = answered || !rules.keeps(Safeguard::AllAnswers);
            Search::Over(judge(
                &cycle,
                &round.between,
                settled && rules.ages() && rules.one_victim,
            ))
        })
    }

    /// Starts a round for the wait of `task`, with the facts that the task's own member knows.
    #[must_use]
    pub fn begin(&self, task: usize, rules: &Rules) -> Option<Box<Round>> {
        let wait = self.tasks[task].wait?;
        let mut graph = Graph::new(rules);
        let holds = &self.tasks[task].holds;
        for hold in holds {
            let answer = self.answer(hold.ticket, rules)?;
            graph.answers.push((hold.ticket, answer));
        }
        Some(Box::new(Round {
            root: wait.id,
            first: None,
            answered: true,
            graph,
            copy: None,
            between: Vec::new(),
        }))
    }

    /// Returns the store's present answer about a name.
    #[must_use]
    pub fn inspect(&self, name: usize, rules: &Rules) -> Known {
        let lock = &self.locks[name];
        let counts = |parked: bool| !parked || !rules.keeps(Safeguard::HeldNow);
        let holders = lock.holders.iter().filter(|holder| counts(holder.parked));
        Known {
            holders: holders.copied().collect(),
            waiters: lock.waiters.clone(),
        }
    }

    /// Returns the present answer of the ticket's member; `None` if the member is dead.
    #[must_use]
    pub fn answer(&self, ticket: Id, rules: &Rules) -> Option<Answer> {
        for (task, state) in self.tasks.iter().enumerate() {
            let mut holds = state.holds.iter().chain(&state.lost);
            let hold = holds.find(|hold| hold.ticket == ticket);
            let (Some(hold), Some(wait)) = (hold, state.wait) else {
                continue;
            };
            let waiters = &self.locks[wait.name].waiters;
            let member = rules.member(task);
            let serves = waiters.iter().find(|record| record.member == member);
            return Some(Answer::Held {
                token: hold.token,
                units: hold.units,
                wait: KnownWait {
                    id: wait.id,
                    name: wait.name,
                    units: wait.units,
                    after: serves.map_or(0, |record| record.ticket),
                },
            });
        }
        for lock in &self.locks {
            if let Some(record) = lock.waiters.iter().find(|record| record.ticket == ticket) {
                return (!self.is_dead(record.member, rules)).then_some(Answer::Waiting);
            }
            if let Some(record) = lock.holders.iter().find(|record| record.ticket == ticket) {
                return (!self.is_dead(record.member, rules)).then_some(Answer::Free);
            }
        }
        // No member has this ticket any longer.
        Some(Answer::Free)
    }

    /// Updates the search after each step of the world.
    pub(super) fn watch_search(&mut self, rules: &Rules) {
        let Search::Round(round) = &self.search else {
            return;
        };
        let waits = self.tasks[0].wait.is_some_and(|wait| wait.id == round.root);
        if round.first.is_none() && !waits {
            // The wait is over, and no second round could start from it.
            self.search = Search::Idle;
        } else if !rules.keeps(Safeguard::TwoRounds) {
            // A single round may report anything that was deadlocked at some time during the round.
            let now = stuck(self, rules);
            if let Search::Round(round) = &mut self.search {
                for stuck in now {
                    if !round.between.contains(&stuck) {
                        round.between.push(stuck);
                    }
                }
            }
        }
    }

    /// Returns the result of a search by `task` during which nothing else happens and no answer is lost.
    #[must_use]
    pub fn search_at_once(&self, task: usize, rules: &Rules) -> Option<Cycle> {
        let mut round = self.begin(task, rules)?;
        loop {
            let (names, tickets) = (round.to_inspect(), round.to_ask());
            let mut heard = false;
            for name in names {
                round.graph.names[name] = Some(self.inspect(name, rules));
                heard = true;
            }
            for ticket in tickets {
                if let Some(answer) = self.answer(ticket, rules) {
                    round.graph.answers.push((ticket, answer));
                    heard = true;
                }
            }
            if !heard {
                return round.cycle(rules);
            }
        }
    }
}

/// Checks that all parts of `cycle` were deadlocked at the same time. If `settled`, also checks that all its tasks
/// choose the same call.
fn judge(cycle: &Cycle, between: &[Stuck], settled: bool) -> Verdict {
    let parts: Vec<Vec<&Stuck>> = cycle
        .steps
        .iter()
        .map(|(token, wait)| {
            let same = |stuck: &&Stuck| stuck.token == *token && stuck.wait == *wait;
            between.iter().filter(same).collect()
        })
        .collect();
    if parts.iter().any(Vec::is_empty) {
        return Verdict::False;
    }
    let agrees = |stuck: &&Stuck| !settled || stuck.chosen == cycle.chosen;
    match parts.iter().all(|part| part.iter().any(agrees)) {
        true => Verdict::True(cycle.steps.len()),
        false => Verdict::Split,
    }
}
