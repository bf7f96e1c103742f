//! The answers that a search has collected, and the computation of waits that never end. This is a short second version
//! of `core/src/deadlock/graph.rs`.

use super::Id;
use super::rules::{Rules, Safeguard};
use super::world::Record;

/// The state of a name, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// The holders, without parked tickets.
    pub holders: Vec<Record>,
    /// The waiters, in the order of the queue.
    pub waiters: Vec<Record>,
}

/// The wait of a task that has a hold, as the task's member knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownWait {
    /// The number of the wait.
    pub id: Id,
    /// The name that the task waits for.
    pub name: usize,
    /// The units that it waits for.
    pub units: u8,
    /// The member's ticket in the queue. It serves this wait, or an earlier wait of the same member.
    pub after: Id,
}

/// A member's answer to the question about a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The ticket's task waits for nothing, or no task has the ticket.
    Free,
    /// The ticket is a waiter.
    Waiting,
    /// The ticket is a holder, and its task waits.
    Held {
        /// The token of the hold.
        token: Id,
        /// The units of the hold.
        units: u8,
        /// The wait of the task.
        wait: KnownWait,
    },
}

/// The answers of one round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Graph {
    /// The states of the names, by index; `None` for a name that was not inspected.
    pub names: Vec<Option<Known>>,
    /// The answers about tickets, in any order.
    pub answers: Vec<(Id, Answer)>,
}

/// A hold whose task waits for another lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    ticket: Id,
    token: Id,
    units: u8,
    wait: KnownWait,
}

/// A deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// For each hold, its token and the wait of its task. The first wait is the one that the search started from.
    pub steps: Vec<(Id, Id)>,
    /// The token of the hold whose task fails.
    pub chosen: Id,
}

impl Graph {
    /// Returns a graph without any answers.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self {
            names: vec![None; rules.capacities.len()],
            answers: Vec::new(),
        }
    }

    /// Returns the known waits.
    pub fn waits(&self) -> impl Iterator<Item = KnownWait> {
        self.helds().into_iter().map(|held| held.wait)
    }

    fn helds(&self) -> Vec<Held> {
        let held = |(ticket, answer): &(Id, Answer)| match *answer {
            Answer::Held { token, units, wait } => Some(Held {
                ticket: *ticket,
                token,
                units,
                wait,
            }),
            Answer::Free | Answer::Waiting => None,
        };
        self.answers.iter().filter_map(held).collect()
    }

    /// Returns the answer about a ticket.
    #[must_use]
    pub fn answer(&self, ticket: Id) -> Option<Answer> {
        let mut answers = self.answers.iter();
        answers.find(|(of, _)| *of == ticket).map(|found| found.1)
    }

    /// Returns the tickets that `wait` waits for: the holders, and the waiters before it that ask for more units.
    #[must_use]
    pub fn in_the_way_of(&self, wait: &KnownWait) -> Vec<Id> {
        let Some(known) = &self.names[wait.name] else {
            return Vec::new();
        };
        let larger = known.before(wait).iter().filter(|w| w.units > wait.units);
        let all = known.holders.iter().chain(larger);
        all.map(|record| record.ticket).collect()
    }

    /// Returns the part that this graph and an earlier one have in common.
    #[must_use]
    pub fn and(&self, earlier: &Self, rules: &Rules) -> Self {
        let both = |now: &[Record], then: &[Record]| {
            let same = now.iter().filter_map(|record| {
                let other = then.iter().find(|other| other.ticket == record.ticket)?;
                let units = record.units.min(other.units);
                Some(Record { units, ..*record })
            });
            same.collect()
        };
        let names = self.names.iter().zip(&earlier.names).map(|(now, then)| {
            // Without the rule `Silence`, the second round reuses the first round's answer for a name that it has not
            // inspected.
            let heard = match rules.keeps(Safeguard::Silence) {
                true => now,
                false if now.is_none() => then,
                false => now,
            };
            let (now, then) = (heard.as_ref()?, then.as_ref()?);
            Some(Known {
                holders: both(&now.holders, &then.holders),
                waiters: both(&now.waiters, &then.waiters),
            })
        });
        let names: Vec<_> = names.collect();
        let common = |(ticket, now): &(Id, Answer)| {
            let then = earlier.answer(*ticket)?;
            Some((*ticket, now.and(then, rules)?))
        };
        let mut answers: Vec<_> = self.answers.iter().filter_map(common).collect();
        if !rules.keeps(Safeguard::Silence) {
            let unheard = |answer: &&(Id, Answer)| self.answer(answer.0).is_none();
            answers.extend(earlier.answers.iter().filter(unheard));
        }
        Self { names, answers }
    }

    /// Returns the deadlock that contains the wait `root`, if there is one.
    #[must_use]
    pub fn cycle(&self, root: Id, rules: &Rules) -> Option<Cycle> {
        let blocked = self.blocked(rules);
        let cycle = self.steps_of_cycle(root, &blocked)?;
        let entangled = match rules.keeps(Safeguard::AllEntangled) {
            true => self.entangled(root, &blocked),
            false => cycle.clone(),
        };
        let youngest = entangled.iter().map(|held| held.token).max();
        Some(Cycle {
            chosen: youngest?,
            steps: cycle
                .iter()
                .map(|held| (held.token, held.wait.id))
                .collect(),
        })
    }

    /// Returns the holds that are never released: starts with all holds, and removes those whose waits can end until no
    /// more can be removed.
    fn blocked(&self, rules: &Rules) -> Vec<Held> {
        let mut blocked = self.helds();
        loop {
            let stuck: Vec<Held> = blocked
                .iter()
                .filter(|held| !self.can_end(&held.wait, &blocked, rules))
                .copied()
                .collect();
            if stuck.len() == blocked.len() {
                return blocked;
            }
            blocked = stuck;
        }
    }

    fn can_end(&self, wait: &KnownWait, blocked: &[Held], rules: &Rules) -> bool {
        let Some(known) = &self.names[wait.name] else {
            return true;
        };
        let units = known.holders.iter().filter_map(|record| {
            let held = blocked.iter().find(|held| held.ticket == record.ticket)?;
            Some(record.units.min(held.units))
        });
        let taken: u8 = units.sum();
        if !rules.keeps(Safeguard::OtherUnits) {
            return taken == 0;
        }
        let fits = |units: u8| taken + units <= rules.capacities[wait.name];
        let counts = |waiter: &&Record| {
            !rules.keeps(Safeguard::WaiterAsked)
                || self.answer(waiter.ticket) == Some(Answer::Waiting)
        };
        let mut before = known.before(wait).iter().filter(counts);
        fits(wait.units) && before.all(|waiter| fits(waiter.units))
    }

    /// Returns the blocked holds that `held` waits for, ordered by token.
    fn blockers(&self, held: &Held, blocked: &[Held]) -> Vec<Held> {
        let Some(known) = &self.names[held.wait.name] else {
            return Vec::new();
        };
        let is_holder = |of: &&Held| known.holders.iter().any(|r| r.ticket == of.ticket);
        let mut found: Vec<Held> = blocked.iter().filter(is_holder).copied().collect();
        found.sort_by_key(|of| (of.token, of.ticket));
        found
    }

    /// Returns the shortest cycle: from the wait `root` back to a hold whose task has this wait.
    fn steps_of_cycle(&self, root: Id, blocked: &[Held]) -> Option<Vec<Held>> {
        let first = blocked.iter().filter(|held| held.wait.id == root);
        let first = first.min_by_key(|held| (held.token, held.ticket))?;
        // Each hold reached, with the index of the previous one on the path; `None` if `root` waits for it directly.
        let blockers = self.blockers(first, blocked);
        let mut reached: Vec<(Held, Option<usize>)> =
            blockers.into_iter().map(|held| (held, None)).collect();
        let mut at = 0;
        while let Some((held, _)) = reached.get(at).copied() {
            if held.wait.id == root {
                let mut steps = Vec::new();
                let mut back = reached[at].1;
                while let Some(place) = back {
                    steps.push(reached[place].0);
                    back = reached[place].1;
                }
                steps.push(held);
                steps.reverse();
                return Some(steps);
            }
            for next in self.blockers(&held, blocked) {
                if !reached.iter().any(|(known, _)| *known == next) {
                    reached.push((next, Some(at)));
                }
            }
            at += 1;
        }
        None
    }

    /// Returns the blocked holds that `root` waits for and that wait for `root`, directly or not.
    fn entangled(&self, root: Id, blocked: &[Held]) -> Vec<Held> {
        let reach = |from: &Held| {
            let mut reached = self.blockers(from, blocked);
            let mut at = 0;
            while let Some(held) = reached.get(at).copied() {
                for next in self.blockers(&held, blocked) {
                    if !reached.contains(&next) {
                        reached.push(next);
                    }
                }
                at += 1;
            }
            reached
        };
        let own = blocked.iter().filter(|held| held.wait.id == root);
        let on: Vec<Held> = own.flat_map(reach).collect();
        let leads_back = |held: &Held| reach(held).iter().any(|to| to.wait.id == root);
        on.into_iter().filter(leads_back).collect()
    }
}

impl Known {
    /// Returns the waiters from the head of the queue to the ticket `wait.after`, which is included.
    fn before(&self, wait: &KnownWait) -> &[Record] {
        let place = self.waiters.iter().position(|w| w.ticket == wait.after);
        place.map_or(&[], |place| &self.waiters[..=place])
    }
}

impl Answer {
    fn and(self, earlier: Self, rules: &Rules) -> Option<Self> {
        match (self, earlier) {
            (Self::Waiting, Self::Waiting) => Some(self),
            (
                Self::Held { token, units, wait },
                Self::Held {
                    token: token_then,
                    units: units_then,
                    wait: wait_then,
                },
            ) => {
                let same_hold = token == token_then || !rules.keeps(Safeguard::Tokens);
                let same_wait = match rules.keeps(Safeguard::WaitIds) {
                    true => wait.id == wait_then.id,
                    false => wait.after == wait_then.after,
                };
                let units = units.min(units_then);
                (same_hold && same_wait).then_some(Self::Held { token, units, wait })
            }
            _ => None,
        }
    }
}
