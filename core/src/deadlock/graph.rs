//! [`Graph`]: the holds and waits that a search has found, and which of the waits can never end: a pure calculation. A
//! hold is *blocked* if its task waits, and none of its waits can ever end, because the blocked holds leave too few
//! units for it, or for a waiter before it. What isn't known to be blocked counts as ending, so a missing answer may
//! hide a deadlock, but never makes one up.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, SystemTime};

use crate::config::Deadlock;
use crate::error::{DeadlockHop, Holder};
use crate::name::Name;
use crate::store::{MemberId, Meta, NameRecord, SharedStr, Ticket, TicketRecord};

/// The identity of one wait of one task, unique for ever. (A ticket of the store may serve one waiter after another.)
pub(crate) type WaitId = Ticket;

/// A wait of a task that holds other locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) id: WaitId,
    pub(crate) name: Name,
    pub(crate) units: u32,
    /// Its own ticket in the queue of the name, or the last ticket of its process that is served before it.
    pub(crate) after: Option<Ticket>,
    pub(crate) waited: Duration,
    /// The place of the call, encoded for the store.
    pub(crate) meta: SharedStr,
    /// The reaction of the wait's client to a deadlock.
    pub(crate) mode: Deadlock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingHold {
    pub(crate) ticket: Ticket,
    /// The fencing token, which distinguishes two holders of one ticket.
    pub(crate) token: u64,
    pub(crate) units: u32,
    pub(crate) held: Duration,
    /// The place where the lock was taken, encoded for the store.
    pub(crate) meta: SharedStr,
    /// The waits of the task: several, if the task has several branches.
    pub(crate) waits: Vec<Wait>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    ticket: Ticket,
    member: MemberId,
    units: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lock {
    capacity: u32,
    holders: Vec<Entry>,
    /// In order, without the waiters that the store passed over because they were silent.
    waiters: Vec<Entry>,
}

/// The answers that one round of a search has received.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    locks: HashMap<Name, Lock>,
    holds: HashMap<Ticket, WaitingHold>,
    /// Waiting tickets whose members have answered that they still wait.
    confirmed: HashSet<Ticket>,
}

/// One step of a cycle: a hold, and the wait of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: Name,
    /// The client that holds the lock.
    pub(crate) member: MemberId,
    pub(crate) hold: WaitingHold,
    pub(crate) wait: Wait,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// Each step holds the lock that the one before waits for; the first has the wait around which the search began.
    pub(crate) steps: Vec<Step>,
    /// The step whose client reports the deadlock or ends it.
    pub(crate) chosen: Step,
}

impl Graph {
    pub(super) fn knows(&self, name: &Name) -> bool {
        self.locks.contains_key(name)
    }

    pub(super) fn names(&self) -> usize {
        self.locks.len()
    }

    pub(super) fn waits_for(&self, name: &Name) -> Vec<Wait> {
        let waits = self.holds.values().flat_map(|hold| &hold.waits);
        waits.filter(|wait| wait.name == *name).cloned().collect()
    }

    /// Adds the state of a name, without parked holders. These were released, and end by themselves (`at_least`).
    pub(super) fn add_name(&mut self, name: &Name, record: &NameRecord) {
        let place = |ticket: &TicketRecord| Entry {
            ticket: ticket.ticket,
            member: ticket.member,
            units: ticket.units,
        };
        let holders = record.holders.iter().filter(|holder| !holder.parked);
        let waiters = record.waiters.iter().filter(|waiter| !waiter.passed_over);
        let lock = Lock {
            capacity: record.capacity.unwrap_or_default(),
            holders: holders.map(place).collect(),
            waiters: waiters.map(place).collect(),
        };
        self.locks.insert(name.clone(), lock);
    }

    pub(super) fn add_hold(&mut self, hold: WaitingHold) {
        self.holds.insert(hold.ticket, hold);
    }

    pub(super) fn add_waiter(&mut self, ticket: Ticket) {
        self.confirmed.insert(ticket);
    }

    /// What may block `wait`: the holders of its name, and earlier waiters that ask for more units.
    pub(super) fn in_the_way_of(&self, wait: &Wait) -> Vec<(MemberId, Ticket)> {
        let Some(lock) = self.locks.get(&wait.name) else {
            return Vec::new();
        };
        let larger = lock
            .before(wait)
            .iter()
            .filter(|waiter| waiter.units > wait.units);
        let all = lock.holders.iter().chain(larger);
        all.map(|place| (place.member, place.ticket)).collect()
    }

    /// The holds and waits in both graphs. They existed during the whole time in between, because tickets, tokens and
    /// the ids of waits are never used again.
    pub(super) fn and(&self, earlier: &Self) -> Self {
        let mut common = Self::default();
        for (name, lock) in &self.locks {
            let Some(before) = earlier.locks.get(name) else {
                continue;
            };
            if before.capacity != lock.capacity {
                continue;
            }
            let in_both = |now: &[Entry], then: &[Entry]| {
                let both = now.iter().filter_map(|place| {
                    let other = then.iter().find(|other| other.ticket == place.ticket)?;
                    let units = place.units.min(other.units);
                    Some(Entry { units, ..*place })
                });
                both.collect()
            };
            let lock = Lock {
                capacity: lock.capacity,
                holders: in_both(&lock.holders, &before.holders),
                waiters: in_both(&lock.waiters, &before.waiters),
            };
            common.locks.insert(name.clone(), lock);
        }
        for (ticket, hold) in &self.holds {
            let Some(before) = earlier.holds.get(ticket) else {
                continue;
            };
            if before.token != hold.token {
                continue;
            }
            let known = |wait: &Wait| before.waits.iter().any(|other| other.id == wait.id);
            let mut hold = hold.clone();
            hold.units = hold.units.min(before.units);
            hold.waits.retain(known);
            common.holds.insert(*ticket, hold);
        }
        let confirmed = self.confirmed.intersection(&earlier.confirmed);
        common.confirmed = confirmed.copied().collect();
        common
    }

    /// The deadlock that `root` is a part of, if there is one.
    pub(super) fn cycle(&self, root: WaitId) -> Option<Cycle> {
        let blocked = self.blocked();
        let circle = self.circle(root, &blocked)?;
        let mut steps = Vec::new();
        for (ticket, wait) in &circle {
            steps.push(self.step(*ticket, wait)?);
        }
        // Among all waits of the deadlock, not only those of this cycle: several cycles may go through one semaphore,
        // and all clients must choose the same wait.
        let members = self.entangled(root, &blocked);
        let waits = members.iter().filter_map(|ticket| {
            let stuck = self.stuck(*ticket, &blocked);
            self.step(*ticket, stuck.min_by_key(|wait| wait.id)?)
        });
        let youngest = |step: &Step| (step.wait.mode, step.hold.token, step.hold.ticket);
        let chosen = waits.max_by_key(youngest)?;
        Some(Cycle { steps, chosen })
    }

    fn step(&self, ticket: Ticket, wait: &Wait) -> Option<Step> {
        let (name, place) = self.locks.iter().find_map(|(name, lock)| {
            let place = lock.holders.iter().find(|place| place.ticket == ticket)?;
            Some((name, place))
        })?;
        Some(Step {
            name: name.clone(),
            member: place.member,
            hold: self.holds.get(&ticket)?.clone(),
            wait: wait.clone(),
        })
    }

    /// The holds that are never released: none of their tasks' waits can end. (A task with several branches may need
    /// only one, as in `select!`; if it needs all, the deadlock is found when the others have ended.)
    fn blocked(&self) -> HashSet<Ticket> {
        let waiting = self.holds.values().filter(|hold| !hold.waits.is_empty());
        let mut blocked: HashSet<Ticket> = waiting.map(|hold| hold.ticket).collect();
        loop {
            let free = |ticket: &&Ticket| {
                let waits = &self.holds[*ticket].waits;
                waits.iter().any(|wait| self.ends(wait, &blocked))
            };
            let freed: Vec<Ticket> = blocked.iter().filter(free).copied().collect();
            if freed.is_empty() {
                return blocked;
            }
            for ticket in freed {
                blocked.remove(&ticket);
            }
        }
    }

    /// Whether `wait` can end while the holds in `blocked` are never released.
    fn ends(&self, wait: &Wait, blocked: &HashSet<Ticket>) -> bool {
        let Some(lock) = self.locks.get(&wait.name) else {
            return true;
        };
        let taken = lock
            .holders
            .iter()
            .filter(|place| blocked.contains(&place.ticket));
        let taken: u64 = taken
            .map(|place| {
                let known = self.holds[&place.ticket].units;
                u64::from(place.units.min(known))
            })
            .sum();
        let fits = |units: u32| taken + u64::from(units) <= u64::from(lock.capacity);
        let before = lock.before(wait).iter();
        let mut before = before.filter(|waiter| self.confirmed.contains(&waiter.ticket));
        fits(wait.units) && before.all(|waiter| fits(waiter.units))
    }

    /// The blocked holds that `wait` waits for, in the order of their tokens.
    fn blockers(&self, wait: &Wait, blocked: &HashSet<Ticket>) -> Vec<Ticket> {
        let holders = self.locks.get(&wait.name).map(|lock| &lock.holders);
        let keeps = |place: &&Entry| {
            place.units > 0
                && blocked.contains(&place.ticket)
                && self.holds[&place.ticket].units > 0
        };
        let keeping = holders.into_iter().flatten().filter(keeps);
        let mut found: Vec<Ticket> = keeping.map(|place| place.ticket).collect();
        found.sort_by_key(|ticket| (self.holds[ticket].token, *ticket));
        found
    }

    /// The waits of a blocked hold that never end.
    fn stuck<'a>(
        &'a self,
        ticket: Ticket,
        blocked: &'a HashSet<Ticket>,
    ) -> impl Iterator<Item = &'a Wait> {
        let waits = self.holds[&ticket].waits.iter();
        waits.filter(|wait| !self.ends(wait, blocked))
    }

    /// The shortest circle from `root` back to a hold of its task: each hold, with its wait.
    fn circle<'a>(
        &'a self,
        root: WaitId,
        blocked: &'a HashSet<Ticket>,
    ) -> Option<Vec<(Ticket, &'a Wait)>> {
        let of_root = |ticket: Ticket| self.stuck(ticket, blocked).find(|wait| wait.id == root);
        let mut own: Vec<Ticket> = blocked.iter().copied().collect();
        own.sort_by_key(|ticket| (self.holds[ticket].token, *ticket));
        let wait = own.into_iter().find_map(of_root)?;
        // For each reached hold: the hold before it, and that hold's wait. `None`: it blocks the wait `root` itself.
        let mut came: HashMap<Ticket, Option<(Ticket, &Wait)>> = HashMap::new();
        let mut next = VecDeque::new();
        for ticket in self.blockers(wait, blocked) {
            came.insert(ticket, None);
            next.push_back(ticket);
        }
        while let Some(ticket) = next.pop_front() {
            if of_root(ticket).is_some() {
                return Some(path(ticket, wait, &came));
            }
            for wait in self.stuck(ticket, blocked) {
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

    /// The blocked holds that `root` waits for and whose tasks wait for its task, directly or through others.
    fn entangled(&self, root: WaitId, blocked: &HashSet<Ticket>) -> HashSet<Ticket> {
        let mut after: HashMap<Ticket, HashSet<Ticket>> = HashMap::new();
        for ticket in blocked {
            let waits = self.stuck(*ticket, blocked);
            let to = waits.flat_map(|wait| self.blockers(wait, blocked));
            after.insert(*ticket, to.collect());
        }
        let reach = |from: Vec<Ticket>, forward: bool| {
            let mut reached: HashSet<Ticket> = from.iter().copied().collect();
            let mut next = from;
            while let Some(ticket) = next.pop() {
                let more: Vec<Ticket> = match forward {
                    true => after[&ticket].iter().copied().collect(),
                    false => {
                        let leads = |(_, to): &(&Ticket, &HashSet<Ticket>)| to.contains(&ticket);
                        after.iter().filter(leads).map(|(from, _)| *from).collect()
                    }
                };
                next.extend(more.into_iter().filter(|ticket| reached.insert(*ticket)));
            }
            reached
        };
        // Counts only if another task of the deadlock waits for it: the other clients find no other holds of this task.
        let is_own = |ticket: &Ticket| self.stuck(*ticket, blocked).any(|wait| wait.id == root);
        let own: Vec<Ticket> = blocked.iter().copied().filter(is_own).collect();
        let next: HashSet<Ticket> = own.iter().flat_map(|own| &after[own]).copied().collect();
        let on = reach(next.into_iter().collect(), true);
        let back = reach(
            own.into_iter().filter(|own| on.contains(own)).collect(),
            false,
        );
        on.intersection(&back).copied().collect()
    }
}

/// First the hold `last`, at which the search ended, with the wait `first`; then the holds that lead from there back to
/// it.
fn path<'a>(
    last: Ticket,
    first: &'a Wait,
    came: &HashMap<Ticket, Option<(Ticket, &'a Wait)>>,
) -> Vec<(Ticket, &'a Wait)> {
    let mut steps = Vec::new();
    let mut at = last;
    while let Some((ticket, wait)) = came[&at] {
        steps.push((ticket, wait));
        at = ticket;
    }
    steps.push((last, first));
    steps.reverse();
    steps
}

impl Cycle {
    /// The steps of the cycle, for errors and logs.
    pub(crate) fn hops(&self) -> Vec<DeadlockHop> {
        let hop = |step: &Step| {
            let Step {
                name, hold, wait, ..
            } = step;
            let holder = Meta::caller(&hold.meta).map(|holder| {
                let since = SystemTime::now().checked_sub(hold.held);
                Box::new(Holder {
                    since: since.unwrap_or(SystemTime::UNIX_EPOCH),
                    ..holder
                })
            });
            DeadlockHop {
                holder,
                holds: name.to_string(),
                held: hold.held,
                waits_for: wait.name.to_string(),
                waits_at: Meta::caller(&wait.meta).map_or_else(String::new, |caller| caller.site),
                waited: wait.waited,
            }
        };
        self.steps.iter().map(hop).collect()
    }
}

impl Lock {
    /// The waiters in the queue up to the ticket `wait.after`. Empty if the place of that ticket is not known.
    fn before(&self, wait: &Wait) -> &[Entry] {
        let place = |after: Ticket| {
            self.waiters
                .iter()
                .position(|waiter| waiter.ticket == after)
        };
        match wait.after.and_then(place) {
            Some(place) => &self.waiters[..=place],
            None => &[],
        }
    }
}
