//! [`Records`]: who waits for whom, as far as the store knows. Operators ask no client: a waiter's record names the
//! locks that its task holds, and the same [`Graph`] works from there.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::graph::Graph;
use super::wait::{Wait, WaitingHold};
use crate::{MemberId, NameRecord, SharedStr, Ticket, TicketRecord};

/// Who waits for whom, at one moment or at [two](Self::and).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Records<N> {
    /// Only the holds of tasks known to wait.
    certain: Graph<N>,
    /// Also all holds of waiting clients, although another task of the client may be the one that waits.
    possible: Graph<N>,
}

/// Tasks that wait for each other, as locks with a hold and a waiter each. The task of a waiter has the next hold; that
/// of the last waiter has the first hold.
pub type CycleHops<N> = Vec<(N, Ticket, Ticket)>;

const MOST_CYCLES: usize = 50;
/// By how much the clocks of a quorum's servers may differ.
const SLACK_US: u64 = 1_000_000;
/// The limit for one client and one of its holds.
const MOST_POSSIBLE: usize = 20;

impl<N: Clone + Ord> Records<N> {
    /// Reads the records of some names. Names without waiters may be left out. `held` reads which names the description
    /// of a waiter lists: see `docs/protocol.md`.
    pub fn new<'a>(
        names: impl IntoIterator<Item = (&'a N, &'a NameRecord)>,
        held: impl Fn(&str) -> Vec<N>,
    ) -> Self
    where
        N: 'a,
    {
        let mut certain = Graph::default();
        for (name, record) in names {
            certain.add_name(name, record.clone());
        }
        let locks = certain.locks.clone();
        let mut possible = certain.clone();
        let mut waiting: BTreeMap<MemberId, Vec<(&TicketRecord, Wait<N>)>> = BTreeMap::new();
        for (name, lock) in &locks {
            // A wait for a signal can end without the release of a lock.
            let lock = Some(lock).filter(|lock| lock.capacity != Some(0));
            for waiter in lock.into_iter().flat_map(|lock| &lock.waiters) {
                let wait = wait(name, waiter);
                for name in held(&waiter.meta) {
                    let hold = locks.get(&name).and_then(|lock| only_hold(lock, waiter));
                    hold.into_iter().for_each(|hold| certain.link(hold, &wait));
                }
                waiting
                    .entry(waiter.member)
                    .or_default()
                    .push((waiter, wait));
            }
        }
        for hold in locks.values().flat_map(|lock| &lock.holders) {
            if let Some(known) = certain.holds.get(&hold.ticket) {
                possible.holds.insert(hold.ticket, known.clone());
                continue;
            }
            let waits = waiting.get(&hold.member).into_iter().flatten();
            let later = waits.filter(|(waiter, _)| was_before(hold, waiter));
            let later = later.take(MOST_POSSIBLE);
            later.for_each(|(_, wait)| possible.link(hold, wait));
        }
        let waiters = locks.values().flat_map(|lock| &lock.waiters);
        let waiters: BTreeSet<_> = waiters.map(|waiter| waiter.ticket).collect();
        (certain.confirmed, possible.confirmed) = (waiters.clone(), waiters);
        Self { certain, possible }
    }

    /// Keeps what was also true at an earlier moment.
    #[must_use]
    pub fn and(self, earlier: &Self) -> Self {
        Self {
            certain: self.certain.and(&earlier.certain),
            possible: self.possible.and(&earlier.possible),
        }
    }

    /// The tasks that wait for each other. With `possible`, those for which the records don't show whether the holding
    /// task is the waiting one.
    pub fn cycles(&self, possible: bool) -> Vec<CycleHops<N>> {
        if !possible {
            return cycles(&self.certain, self.certain.blocked());
        }
        let cycles = cycles(&self.possible, self.possible.blocked_if_any());
        let is_certain = |(_, hold, _): &(N, Ticket, Ticket)| self.is_certain(*hold);
        cycles
            .into_iter()
            .filter(|cycle| !cycle.iter().all(is_certain))
            .collect()
    }

    /// The tickets with which the task of this hold waits or may wait: see [`is_certain`](Self::is_certain).
    pub fn waits_of(&self, hold: Ticket) -> impl Iterator<Item = Ticket> {
        self.possible.waits_of(hold).iter().map(|wait| wait.id)
    }

    /// Whether the task of this hold is known to wait.
    pub fn is_certain(&self, hold: Ticket) -> bool {
        self.certain.holds.contains_key(&hold)
    }
}

fn wait<N: Clone>(name: &N, waiter: &TicketRecord) -> Wait<N> {
    Wait {
        id: waiter.ticket,
        name: name.clone(),
        units: waiter.units,
        after: Some(waiter.ticket),
        waited: Duration::ZERO,
        meta: SharedStr::EMPTY,
        fails: false,
    }
}

/// The hold of the waiter's client, if there is only one. If it began after the wait, it is not the one in the record.
fn only_hold<'a>(lock: &'a NameRecord, waiter: &TicketRecord) -> Option<&'a TicketRecord> {
    let mut own = lock
        .holders
        .iter()
        .filter(|hold| hold.member == waiter.member);
    let hold = own.next().filter(|hold| was_before(hold, waiter))?;
    own.next().is_none().then_some(hold)
}

fn was_before(hold: &TicketRecord, waiter: &TicketRecord) -> bool {
    hold.since <= waiter.since.saturating_add(SLACK_US)
}

impl<N: Clone + Ord> Graph<N> {
    fn link(&mut self, hold: &TicketRecord, wait: &Wait<N>) {
        let new = || WaitingHold {
            ticket: hold.ticket,
            token: hold.token,
            units: hold.units,
            held: Duration::ZERO,
            meta: SharedStr::EMPTY,
            waits: Vec::new(),
        };
        let known = self.holds.entry(hold.ticket).or_insert_with(new);
        known.waits.push(wait.clone());
    }
}

/// One cycle for each set of locks, in the order of their names.
fn cycles<N: Clone + Ord>(graph: &Graph<N>, mut blocked: BTreeSet<Ticket>) -> Vec<CycleHops<N>> {
    // First drop what merely waits behind cycles, which may be much.
    loop {
        let waits = blocked.iter().flat_map(|hold| graph.waits_of(*hold));
        let awaited: BTreeSet<_> = waits
            .flat_map(|wait| graph.blockers(wait, &blocked))
            .collect();
        if awaited.len() == blocked.len() {
            break;
        }
        blocked.retain(|hold| awaited.contains(hold));
    }
    let waits = blocked.iter().flat_map(|hold| graph.waits_of(*hold));
    let waits: BTreeSet<_> = waits.map(|wait| wait.id).collect();
    let mut found = BTreeMap::new();
    for steps in waits
        .into_iter()
        .filter_map(|root| graph.steps(root, &blocked))
    {
        let mut names: Vec<_> = steps.iter().map(|step| step.name.clone()).collect();
        names.sort();
        let waiters = steps.iter().rev().cycle().skip(1);
        let cycle = steps.iter().rev().zip(waiters);
        let cycle =
            cycle.map(|(step, waiter)| (step.name.clone(), step.hold.ticket, waiter.wait.id));
        found.entry(names).or_insert_with(|| cycle.collect());
        if found.len() == MOST_CYCLES {
            break;
        }
    }
    found.into_values().collect()
}
