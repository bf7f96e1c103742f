//! [`Graph`]: computes which waits can never end. A hold is *blocked* if its task waits and none of the task's waits
//! can ever end, because blocked holds leave too few units for it or for an earlier waiter. Whatever isn't known to be
//! blocked counts as ending: a missing answer may hide a deadlock, but never invents one.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::iter::successors;

use super::wait::{Wait, WaitId, WaitingHold};
use crate::{MemberId, NameRecord, Ticket, TicketRecord};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Graph<N> {
    /// Without parked holders, which end by themselves, and those that no call is inside of; and without waiters that
    /// the store passed over.
    pub(super) locks: BTreeMap<N, NameRecord>,
    pub(super) holds: BTreeMap<Ticket, WaitingHold<N>>,
    /// Waiting tickets whose members have answered that they still wait.
    pub(super) confirmed: BTreeSet<Ticket>,
}

/// A hold in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step<N> {
    /// The lock that is held.
    pub name: N,
    /// The client that holds it.
    pub member: MemberId,
    /// The hold.
    pub hold: WaitingHold<N>,
    /// The wait of its task.
    pub wait: Wait<N>,
}

/// A deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cycle<N> {
    /// Each step holds the lock that the previous one waits for. The first has the wait where the search began.
    pub steps: Vec<Step<N>>,
    /// The hold whose task has to end its wait.
    pub chosen: Step<N>,
}

impl<N> Default for Graph<N> {
    fn default() -> Self {
        Self {
            locks: BTreeMap::new(),
            holds: BTreeMap::new(),
            confirmed: BTreeSet::new(),
        }
    }
}

impl<N: Clone + Ord> Graph<N> {
    pub(super) fn add_name(&mut self, name: &N, mut lock: NameRecord) {
        lock.holders.retain(|holder| !holder.parked && !holder.kept);
        lock.waiters.retain(|waiter| !waiter.passed_over);
        self.locks.insert(name.clone(), lock);
    }

    /// The holders of its name, and earlier waiters for more units.
    pub(super) fn in_the_way_of(&self, wait: &Wait<N>) -> Vec<(MemberId, Ticket)> {
        let Some(lock) = self.locks.get(&wait.name) else {
            return Vec::new();
        };
        let before = before(lock, wait).iter();
        let larger = before.filter(|waiter| waiter.units > wait.units);
        let all = lock.holders.iter().chain(larger);
        all.map(|record| (record.member, record.ticket)).collect()
    }

    /// What is in both graphs existed all the time between them, because tickets, tokens and wait ids are never reused.
    pub(super) fn and(mut self, earlier: &Self) -> Self {
        self.locks.retain(|name, lock| {
            let before = earlier.locks.get(name);
            let Some(before) = before.filter(|before| before.capacity == lock.capacity) else {
                return false;
            };
            keep_common(&mut lock.holders, &before.holders);
            keep_common(&mut lock.waiters, &before.waiters);
            true
        });
        self.holds.retain(|ticket, hold| {
            let before = earlier.holds.get(ticket);
            let Some(before) = before.filter(|before| before.token == hold.token) else {
                return false;
            };
            let known = |wait: &Wait<N>| before.waits.iter().any(|other| other.id == wait.id);
            hold.units = hold.units.min(before.units);
            hold.waits.retain(known);
            true
        });
        self.confirmed
            .retain(|ticket| earlier.confirmed.contains(ticket));
        self
    }

    /// All waits of the task that has the wait `root`.
    pub(super) fn waits_beside(&self, root: WaitId) -> Vec<&Wait<N>> {
        let is_root = |wait: &Wait<N>| wait.id == root;
        let holds = self.holds.values();
        let holds = holds.filter(|hold| hold.waits.iter().any(is_root));
        holds.flat_map(|hold| &hold.waits).collect()
    }

    pub(super) fn waits_of(&self, ticket: Ticket) -> &[Wait<N>] {
        self.holds.get(&ticket).map_or(&[], |hold| &hold.waits)
    }

    /// `blocked` is the result of [`blocked`](Self::blocked).
    pub(super) fn cycle(&self, root: WaitId, blocked: &BTreeSet<Ticket>) -> Option<Cycle<N>> {
        let steps = self.steps(root, blocked)?;
        // Of the whole deadlock: several cycles may run through one semaphore, and all clients must choose the same
        // wait.
        let members = self.entangled(root, blocked);
        let waits = members.into_iter().filter_map(|ticket| {
            let waits = self.waits_of(ticket).iter();
            self.step(ticket, waits.min_by_key(|wait| wait.id)?)
        });
        let youngest = |step: &Step<N>| (step.wait.fails, step.hold.token, step.hold.ticket);
        let chosen = waits.max_by_key(youngest)?;
        Some(Cycle { steps, chosen })
    }

    /// The steps of the shortest [`Cycle`].
    pub(super) fn steps(&self, root: WaitId, blocked: &BTreeSet<Ticket>) -> Option<Vec<Step<N>>> {
        let shortest = self.shortest(root, blocked)?.into_iter();
        shortest
            .map(|(ticket, wait)| self.step(ticket, wait))
            .collect()
    }

    fn step(&self, ticket: Ticket, wait: &Wait<N>) -> Option<Step<N>> {
        let (name, record) = self.locks.iter().find_map(|(name, lock)| {
            let record = lock.holders.iter().find(|record| record.ticket == ticket)?;
            Some((name, record))
        })?;
        Some(Step {
            name: name.clone(),
            member: record.member,
            hold: self.holds.get(&ticket)?.clone(),
            wait: wait.clone(),
        })
    }

    /// The holds whose tasks wait, and have no wait that can end. A task with several branches may need only one of
    /// them, as in `select!`. If it needs all, the deadlock is found when the other branches have ended.
    pub(super) fn blocked(&self) -> BTreeSet<Ticket> {
        self.stuck(true)
    }

    /// Like [`blocked`](Self::blocked), but a single wait that cannot end suffices.
    pub(super) fn blocked_if_any(&self) -> BTreeSet<Ticket> {
        self.stuck(false)
    }

    fn stuck(&self, every: bool) -> BTreeSet<Ticket> {
        let waiting = self.holds.values().filter(|hold| !hold.waits.is_empty());
        let mut blocked: BTreeSet<Ticket> = waiting.map(|hold| hold.ticket).collect();
        loop {
            let is_stuck = |ticket: &Ticket| {
                let mut waits = self.holds[ticket].waits.iter();
                let ends = |wait| self.ends(wait, &blocked);
                match every {
                    true => !waits.any(ends),
                    false => !waits.all(ends),
                }
            };
            let left: BTreeSet<Ticket> = blocked.iter().copied().filter(is_stuck).collect();
            if left.len() == blocked.len() {
                return blocked;
            }
            blocked = left;
        }
    }

    fn ends(&self, wait: &Wait<N>, blocked: &BTreeSet<Ticket>) -> bool {
        let Some(lock) = self.locks.get(&wait.name) else {
            return true;
        };
        let keeps = |record: &&TicketRecord| blocked.contains(&record.ticket);
        let kept = lock.holders.iter().filter(keeps);
        let kept = kept.map(|record| record.units.min(self.holds[&record.ticket].units));
        let taken: u64 = kept.map(u64::from).sum();
        let fits = |units: u32| taken + u64::from(units) <= u64::from(lock.capacity.unwrap_or(0));
        let before = before(lock, wait).iter();
        let mut before = before.filter(|waiter| self.confirmed.contains(&waiter.ticket));
        fits(wait.units) && before.all(|waiter| fits(waiter.units))
    }

    /// Sorted by their tokens.
    pub(super) fn blockers(&self, wait: &Wait<N>, blocked: &BTreeSet<Ticket>) -> Vec<Ticket> {
        let holders = self.locks.get(&wait.name).map(|lock| &lock.holders);
        let keeps = |record: &&TicketRecord| {
            let is_blocked = blocked.contains(&record.ticket);
            is_blocked && record.units > 0 && self.holds[&record.ticket].units > 0
        };
        let keeping = holders.into_iter().flatten().filter(keeps);
        let mut found: Vec<Ticket> = keeping.map(|record| record.ticket).collect();
        found.sort_by_key(|ticket| self.age(*ticket));
        found
    }

    fn age(&self, ticket: Ticket) -> (u64, Ticket) {
        (self.holds[&ticket].token, ticket)
    }

    /// The shortest cycle from `root` back to a hold of its task.
    fn shortest<'a>(
        &'a self,
        root: WaitId,
        blocked: &'a BTreeSet<Ticket>,
    ) -> Option<Vec<(Ticket, &'a Wait<N>)>> {
        let of_root = |ticket: Ticket| self.waits_of(ticket).iter().find(|wait| wait.id == root);
        let own = blocked
            .iter()
            .copied()
            .filter(|ticket| of_root(*ticket).is_some());
        let first = of_root(own.min_by_key(|ticket| self.age(*ticket))?)?;
        let mut next = VecDeque::from(self.blockers(first, blocked));
        // The previous hold and its wait; `None` for a hold that blocks the wait `root` itself.
        let mut came: BTreeMap<Ticket, Option<(Ticket, &Wait<N>)>> =
            next.iter().map(|ticket| (*ticket, None)).collect();
        while let Some(ticket) = next.pop_front() {
            if of_root(ticket).is_some() {
                let back = successors(came[&ticket], |(ticket, _)| came[ticket]);
                let mut steps: Vec<_> = back.chain([(ticket, first)]).collect();
                steps.reverse();
                return Some(steps);
            }
            for wait in self.waits_of(ticket) {
                for blocker in self.blockers(wait, blocked) {
                    came.entry(blocker).or_insert_with(|| {
                        next.push_back(blocker);
                        Some((ticket, wait))
                    });
                }
            }
        }
        None
    }

    /// The blocked holds that `root` waits for and that wait for its task, directly or through others.
    fn entangled(&self, root: WaitId, blocked: &BTreeSet<Ticket>) -> BTreeSet<Ticket> {
        let after = |ticket: Ticket| -> Vec<Ticket> {
            let waits = self.waits_of(ticket).iter();
            waits
                .flat_map(|wait| self.blockers(wait, blocked))
                .collect()
        };
        // Other clients never find holds of this task that nothing in the deadlock waits for.
        let is_own = |ticket: &Ticket| self.waits_of(*ticket).iter().any(|wait| wait.id == root);
        let mut own: Vec<Ticket> = blocked.iter().copied().filter(is_own).collect();
        let on = reach(own.iter().flat_map(|own| after(*own)).collect(), after);
        own.retain(|own| on.contains(own));
        let after: Vec<(Ticket, Vec<Ticket>)> =
            on.iter().map(|ticket| (*ticket, after(*ticket))).collect();
        reach(own, |to| {
            let leading = after.iter().filter(|(_, next)| next.contains(&to));
            leading.map(|(from, _)| *from).collect()
        })
    }
}

fn reach(mut from: Vec<Ticket>, next: impl Fn(Ticket) -> Vec<Ticket>) -> BTreeSet<Ticket> {
    let mut reached: BTreeSet<Ticket> = from.iter().copied().collect();
    while let Some(ticket) = from.pop() {
        let more = next(ticket).into_iter();
        from.extend(more.filter(|ticket| reached.insert(*ticket)));
    }
    reached
}

/// Keeps those that are in both lists, with the lower number of units.
fn keep_common(now: &mut Vec<TicketRecord>, then: &[TicketRecord]) {
    now.retain_mut(|record| {
        let Some(other) = then.iter().find(|other| other.ticket == record.ticket) else {
            return false;
        };
        record.units = record.units.min(other.units);
        true
    });
}

/// The waiters up to and including the ticket `wait.after`; none if its position is unknown.
fn before<'a, N>(lock: &'a NameRecord, wait: &Wait<N>) -> &'a [TicketRecord] {
    let position = |after| {
        lock.waiters
            .iter()
            .position(|waiter| waiter.ticket == after)
    };
    match wait.after.and_then(position) {
        Some(position) => &lock.waiters[..=position],
        None => &[],
    }
}
