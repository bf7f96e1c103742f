//! What a search has found, and which waits never end: `runtime/src/deadlock/graph.rs` once more, in short.

use super::Id;
use super::rules::{Rules, Safeguard};
use super::world::Record;

/// A name, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// Without parked tickets.
    pub holders: Vec<Record>,
    /// In order.
    pub waiters: Vec<Record>,
}

/// The wait of the task of a hold, as its member knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownWait {
    /// The number of the wait.
    pub id: Id,
    /// For this name.
    pub name: usize,
    /// Of the capacity.
    pub units: u8,
    /// The ticket in the queue that serves it, or a wait before it.
    pub after: Id,
}

/// What a member says about a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Its task waits for nothing, or it has none.
    Free,
    /// It waits itself.
    Waiting,
    /// It holds, and its task waits.
    Held {
        /// The token of the hold.
        token: Id,
        /// Of the capacity.
        units: u8,
        /// What the task waits for.
        wait: KnownWait,
    },
}

/// What one round has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Graph {
    /// By name.
    pub names: Vec<Option<Known>>,
    /// By ticket, in any order.
    pub answers: Vec<(Id, Answer)>,
}

/// A hold whose task waits.
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
    /// The token of each hold, and the wait of its task. Begins with the wait that the search began with.
    pub steps: Vec<(Id, Id)>,
    /// The token of the hold whose task fails.
    pub chosen: Id,
}

impl Graph {
    /// Nothing is known of any name.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self {
            names: vec![None; rules.capacities.len()],
            answers: Vec::new(),
        }
    }

    /// The waits that are known.
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

    /// What was answered about a ticket.
    #[must_use]
    pub fn answer(&self, ticket: Id) -> Option<Answer> {
        let mut answers = self.answers.iter();
        answers.find(|(of, _)| *of == ticket).map(|found| found.1)
    }

    /// The tickets that `wait` waits for: the holders, and waiters before it that ask for more.
    #[must_use]
    pub fn in_the_way_of(&self, wait: &KnownWait) -> Vec<Id> {
        let Some(known) = &self.names[wait.name] else {
            return Vec::new();
        };
        let larger = known.before(wait).iter().filter(|w| w.units > wait.units);
        let all = known.holders.iter().chain(larger);
        all.map(|record| record.ticket).collect()
    }

    /// What this and an earlier graph have in common.
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
            // Without the rule, what the first round has heard is not asked again.
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

    /// The deadlock that the wait `root` is a part of, if there is one.
    #[must_use]
    pub fn cycle(&self, root: Id, rules: &Rules) -> Option<Cycle> {
        let blocked = self.blocked(rules);
        let circle = self.circle(root, &blocked)?;
        let entangled = match rules.keeps(Safeguard::AllEntangled) {
            true => self.entangled(root, &blocked),
            false => circle.clone(),
        };
        let youngest = entangled.iter().map(|held| held.token).max();
        Some(Cycle {
            chosen: youngest?,
            steps: circle
                .iter()
                .map(|held| (held.token, held.wait.id))
                .collect(),
        })
    }

    /// The holds that are never released: all, without those whose waits can end, until none is left to take away.
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

    /// The blocked holds that `held` waits for, in the order of their tokens.
    fn blockers(&self, held: &Held, blocked: &[Held]) -> Vec<Held> {
        let Some(known) = &self.names[held.wait.name] else {
            return Vec::new();
        };
        let is_holder = |of: &&Held| known.holders.iter().any(|r| r.ticket == of.ticket);
        let mut found: Vec<Held> = blocked.iter().filter(is_holder).copied().collect();
        found.sort_by_key(|of| (of.token, of.ticket));
        found
    }

    /// The shortest circle from `root` back to a hold of its task.
    fn circle(&self, root: Id, blocked: &[Held]) -> Option<Vec<Held>> {
        let first = blocked.iter().filter(|held| held.wait.id == root);
        let first = first.min_by_key(|held| (held.token, held.ticket))?;
        // Each hold, and where the one before it is.
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

    /// The blocked holds that `root` waits for, directly or not, and that wait for `root`.
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
    /// The waiters that are served before `wait`.
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
