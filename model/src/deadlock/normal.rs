//! The normal form of a world, in which numbers are canonical and irrelevant facts are left out. Worlds that differ
//! only in these have the same normal form.

use super::Id;
use super::graph::{Answer, Graph};
use super::rules::{Rules, Safeguard};
use super::search::Search;
use super::world::{Record, World};

/// The kind of thing that a number identifies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ticket,
    Token,
    Wait,
}

impl World {
    /// Renumbers tickets, tokens and waits. Tokens keep their order where the order matters.
    pub fn normalise(&mut self, rules: &Rules) {
        self.forget(rules);
        let mut seen: [Vec<Id>; 3] = Default::default();
        self.each_number(&mut |kind, number| {
            let seen = &mut seen[kind as usize];
            if *number != 0 && !seen.contains(number) {
                seen.push(*number);
            }
        });
        if rules.ages() {
            seen[Kind::Token as usize].sort_unstable();
        }
        self.each_number(&mut |kind, number| {
            let found = seen[kind as usize].iter().position(|other| other == number);
            *number = found.map_or(0, |place| place as Id + 1);
        });
        self.last = [0, 1, 2].map(|kind| seen[kind].len() as Id);
        if let Search::Round(round) = &mut self.search {
            round.graph.answers.sort_unstable_by_key(|answer| answer.0);
            if let Some(first) = &mut round.first {
                first.answers.sort_unstable_by_key(|answer| answer.0);
            }
            round.between.sort_unstable();
        }
    }

    /// Forgets dead numbers. They never come back, so the second round cannot confirm them.
    fn forget(&mut self, rules: &Rules) {
        let mut round = match std::mem::replace(&mut self.search, Search::Idle) {
            Search::Round(round) => round,
            other => {
                self.search = other;
                return;
            }
        };
        for graph in round.first.iter_mut().chain([&mut round.graph]) {
            graph.forget_places(rules);
        }
        let mut alive: [Vec<Id>; 3] = Default::default();
        let mut keep = |kind: Kind, number: &mut Id| alive[kind as usize].push(*number);
        self.each_number(&mut keep);
        if let Some((ticket, answer)) = &mut round.copy {
            keep(Kind::Ticket, ticket);
            answer.each_number(&mut keep);
        }
        let second = round.first.is_some();
        round.graph.forget_free(&alive);
        if second || !rules.keeps(Safeguard::TwoRounds) || !rules.keeps(Safeguard::Silence) {
            let mut keep = |kind: Kind, number: &mut Id| alive[kind as usize].push(*number);
            round.graph.each_number(&mut keep);
        } else {
            round.graph.each_number(&mut |kind, number| {
                if kind != Kind::Ticket && !alive[kind as usize].contains(number) {
                    *number = 0;
                }
            });
        }
        if let Some(first) = &mut round.first
            && rules.keeps(Safeguard::Silence)
        {
            first.forget_dead(&alive, rules);
            if first.cycle(round.root, rules).is_none() {
                // The second round can confirm no deadlock, so the search ends here.
                return;
            }
        }
        if rules.keeps(Safeguard::Silence) {
            round.between.retain(|stuck| {
                alive[Kind::Token as usize].contains(&stuck.token)
                    && alive[Kind::Wait as usize].contains(&stuck.wait)
            });
        }
        self.search = Search::Round(round);
    }

    fn each_number(&mut self, visit: &mut impl FnMut(Kind, &mut Id)) {
        for lock in &mut self.locks {
            for record in lock.holders.iter_mut().chain(&mut lock.waiters) {
                visit(Kind::Ticket, &mut record.ticket);
            }
        }
        for task in &mut self.tasks {
            for hold in task.holds.iter_mut().chain(&mut task.lost) {
                visit(Kind::Ticket, &mut hold.ticket);
                visit(Kind::Token, &mut hold.token);
            }
            if let Some(wait) = &mut task.wait {
                visit(Kind::Wait, &mut wait.id);
            }
        }
        let Search::Round(round) = &mut self.search else {
            return;
        };
        visit(Kind::Wait, &mut round.root);
        round.graph.each_number(visit);
        if let Some(first) = &mut round.first {
            first.each_number(visit);
        }
        if let Some((ticket, answer)) = &mut round.copy {
            visit(Kind::Ticket, ticket);
            answer.each_number(visit);
        }
        for stuck in &mut round.between {
            visit(Kind::Token, &mut stuck.token);
            visit(Kind::Token, &mut stuck.chosen);
            visit(Kind::Wait, &mut stuck.wait);
        }
    }
}

impl Graph {
    /// Clears the waiters: without writers, no waiter blocks another, and places in the queue do not matter.
    fn forget_places(&mut self, rules: &Rules) {
        if rules.writers {
            return;
        }
        for known in self.names.iter_mut().flatten() {
            known.waiters.clear();
        }
        for (_, answer) in &mut self.answers {
            if let Answer::Held { wait, .. } = answer
                && rules.keeps(Safeguard::WaitIds)
            {
                wait.after = 0;
            }
        }
    }

    /// Forgets tickets that no longer exist. The answer about them would be `Free`, which changes nothing.
    fn forget_free(&mut self, alive: &[Vec<Id>; 3]) {
        let tickets = &alive[Kind::Ticket as usize];
        let answers = &mut self.answers;
        answers.retain(|(ticket, answer)| *answer != Answer::Free || tickets.contains(ticket));
        let counts = |record: &Record| {
            tickets.contains(&record.ticket)
                || answers.iter().any(|(ticket, _)| *ticket == record.ticket)
        };
        for known in self.names.iter_mut().flatten() {
            known.holders.retain(counts);
        }
    }

    /// Forgets answers and records with a number that is not in `alive`.
    fn forget_dead(&mut self, alive: &[Vec<Id>; 3], rules: &Rules) {
        let is_alive = |kind: Kind, number: &Id| alive[kind as usize].contains(number);
        self.answers.retain(|(ticket, answer)| {
            let same = match answer {
                Answer::Free => false,
                Answer::Waiting => true,
                Answer::Held { token, wait, .. } => {
                    (is_alive(Kind::Token, token) || !rules.keeps(Safeguard::Tokens))
                        && (is_alive(Kind::Wait, &wait.id) || !rules.keeps(Safeguard::WaitIds))
                }
            };
            same && is_alive(Kind::Ticket, ticket)
        });
        for known in self.names.iter_mut().flatten() {
            for records in [&mut known.holders, &mut known.waiters] {
                records.retain(|record| is_alive(Kind::Ticket, &record.ticket));
            }
        }
        self.each_number(&mut |kind, number| {
            if !is_alive(kind, number) {
                *number = 0;
            }
        });
    }

    fn each_number(&mut self, visit: &mut impl FnMut(Kind, &mut Id)) {
        for known in self.names.iter_mut().flatten() {
            for record in known.holders.iter_mut().chain(&mut known.waiters) {
                visit(Kind::Ticket, &mut record.ticket);
            }
        }
        for (ticket, answer) in &mut self.answers {
            visit(Kind::Ticket, ticket);
            answer.each_number(visit);
        }
    }
}

impl Answer {
    fn each_number(&mut self, visit: &mut impl FnMut(Kind, &mut Id)) {
        if let Self::Held { token, wait, .. } = self {
            visit(Kind::Token, token);
            visit(Kind::Wait, &mut wait.id);
            visit(Kind::Ticket, &mut wait.after);
        }
    }
}
