//! [`Waits`]: who waits for whom.

use std::collections::{HashMap, HashSet};

use auto_mutex_core::store::Ticket;
use auto_mutex_core::{Holder, LockKind, Records, Ring};

use super::{Hold, Lock, Wait};

/// Who waits for whom: see [`Operator::waits`](super::Operator::waits).
#[derive(Debug)]
pub struct Waits {
    locks: Vec<Lock>,
    records: Records,
    /// Certain and possible ones.
    rings: [Vec<Ring>; 2],
    /// The lock of each waiter, and the index of the waiter.
    waiters: HashMap<Ticket, (usize, usize)>,
    /// For each waiter, the locks that its task holds, or may hold.
    held: HashMap<Ticket, Vec<usize>>,
}

/// Waits that depend on each other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Chain<'a> {
    /// Whether these tasks wait for each other: a deadlock, which the library reports as well.
    pub cycle: bool,
    /// Whether they would wait for each other if the same tasks of their processes hold and wait, which the store
    /// doesn't know.
    pub possible: bool,
    /// In order. In a cycle, the last waiter holds the first lock.
    pub hops: Vec<Hop<'a>>,
}

/// A waiter of a lock, and the holder for which it waits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hop<'a> {
    /// 0 for the first lock. A lock of a greater depth is held by the nearest waiter before it whose depth is one less.
    pub depth: usize,
    /// Whether it's only possible that this waiter holds the lock: another task of its process may hold it.
    pub possible: bool,
    /// The lock.
    pub lock: &'a Lock,
    /// The holder. Of several, the one that waits itself, or else the oldest; `None` if nobody holds the lock.
    pub holder: Option<&'a Hold>,
    /// `None` if nobody waits for the lock.
    pub waiter: Option<&'a Wait>,
}

/// A lock, and the hold that is shown as the reason why others wait.
type Blocker<'a> = (&'a Lock, Option<(Ticket, &'a Hold)>);

impl Waits {
    pub(super) fn records(locks: &[Lock]) -> Records {
        Records::new(locks.iter().map(|lock| (&lock.id, &*lock.record)))
    }

    pub(super) fn new(locks: Vec<Lock>, records: Records, rings: [Vec<Ring>; 2]) -> Self {
        let mut waits = Self {
            locks,
            records,
            rings,
            waiters: HashMap::new(),
            held: HashMap::new(),
        };
        for index in 0..waits.locks.len() {
            let (lock, holder) = waits.blocker(index);
            let waiters = lock.record.waiters.iter().map(|waiter| waiter.ticket);
            let waiters: Vec<_> = waiters.zip((0..).map(|place| (index, place))).collect();
            let holders = holder.map(|(ticket, _)| waits.records.waits_of(ticket).collect());
            waits.waiters.extend(waiters);
            for waiter in holders.unwrap_or_else(Vec::new) {
                waits.held.entry(waiter).or_default().push(index);
            }
        }
        waits
    }

    /// All waits, each once, but those of possible cycles twice: first the cycles, then the possible ones, then the
    /// chains whose first holder waits for nobody.
    #[must_use]
    pub fn chains(&self) -> Vec<Chain<'_>> {
        let mut done = HashSet::new();
        let cycles = self.rings[0].iter().map(|ring| self.cycle(ring, &mut done));
        let mut chains: Vec<_> = cycles.collect();
        let possible = self.rings[1].iter();
        chains.extend(possible.map(|ring| Chain {
            cycle: false,
            possible: true,
            ..self.cycle(ring, &mut done.clone())
        }));
        let waits = |index: &usize| {
            let mut holder = self.blocker(*index).1.into_iter();
            holder.any(|(ticket, _)| self.records.waits_of(ticket).next().is_some())
        };
        // A waiter of a condition variable waits for no holder.
        let is_linked = |index: &usize| self.locks[*index].kind != Some(LockKind::Condvar);
        let linked = (0..self.locks.len()).filter(is_linked);
        let (last, first): (Vec<_>, Vec<_>) = linked.partition(waits);
        for index in first.into_iter().chain(last) {
            let mut hops = Vec::new();
            self.add(&mut hops, 0, index, &mut done);
            if !hops.is_empty() {
                chains.push(Chain::of(hops));
            }
        }
        chains
    }

    /// The chain that ends with this lock, from the holder that waits for nobody. `None` if the lock isn't among those
    /// that were given.
    #[must_use]
    pub fn to_lock(&self, name: &str) -> Option<Chain<'_>> {
        let index = self.locks.iter().position(|lock| lock.name == name)?;
        Some(self.path(index, self.locks[index].waiters.first()))
    }

    /// For each waiter whose process is asked for, the chain that ends with it.
    pub fn to_waiters(&self, mut is_asked: impl FnMut(&Holder) -> bool) -> Vec<Chain<'_>> {
        let waiters = self.locks.iter().enumerate();
        let waiters =
            waiters.flat_map(|(index, lock)| lock.waiters.iter().map(move |wait| (index, wait)));
        let asked = waiters.filter(|(_, wait)| wait.who.as_ref().is_some_and(&mut is_asked));
        asked
            .map(|(index, wait)| self.path(index, Some(wait)))
            .collect()
    }

    fn path<'a>(&'a self, mut index: usize, mut waiter: Option<&'a Wait>) -> Chain<'a> {
        let (mut seen, mut hops) = (HashSet::new(), Vec::new());
        while seen.insert(index) {
            let holder = self.blocker(index).1;
            let next = holder.and_then(|(ticket, _)| {
                let waiter = self.records.waits_of(ticket).next()?;
                self.waiters.get(&waiter)
            });
            hops.push(self.hop(usize::MAX, index, waiter));
            let Some((of, place)) = next else {
                break;
            };
            (index, waiter) = (*of, self.locks[*of].waiters.get(*place));
        }
        hops.reverse();
        for (depth, hop) in hops.iter_mut().enumerate() {
            (hop.depth, hop.possible) = (depth, hop.possible && depth > 0);
        }
        let is_in = |ring: &Ring| {
            ring.iter()
                .any(|(name, ..)| hops.iter().any(|hop| hop.lock.id == *name))
        };
        let [cycle, possible] = self.rings.each_ref().map(|rings| rings.iter().any(is_in));
        Chain {
            cycle,
            possible: possible && !cycle,
            hops,
        }
    }

    /// A cycle, the other waiters for its locks, and those who wait for these.
    fn cycle(&self, ring: &Ring, done: &mut HashSet<usize>) -> Chain<'_> {
        let waiter = |(_, hold, waiter): &(_, _, Ticket)| Some((*hold, *self.waiters.get(waiter)?));
        let waiters: Vec<_> = ring.iter().filter_map(waiter).collect();
        done.extend(waiters.iter().map(|(_, (index, _))| *index));
        let mut hops = Vec::new();
        for (depth, (hold, (index, place))) in waiters.into_iter().enumerate() {
            let lock = &self.locks[index];
            for other in (0..lock.waiters.len()).filter(|other| *other != place) {
                self.add_waiter(&mut hops, depth, (index, other), done);
            }
            let mut holders = lock.record.holders.iter().zip(&lock.holders);
            let holder = holders.find(|(record, _)| record.ticket == hold);
            hops.push(Hop {
                holder: holder.map(|(_, hold)| hold),
                ..self.hop(depth, index, lock.waiters.get(place))
            });
        }
        Chain {
            cycle: true,
            ..Chain::of(hops)
        }
    }

    fn add<'a>(
        &'a self,
        hops: &mut Vec<Hop<'a>>,
        depth: usize,
        index: usize,
        done: &mut HashSet<usize>,
    ) {
        if done.insert(index) {
            for place in 0..self.locks[index].waiters.len() {
                self.add_waiter(hops, depth, (index, place), done);
            }
        }
    }

    fn add_waiter<'a>(
        &'a self,
        hops: &mut Vec<Hop<'a>>,
        depth: usize,
        waiter: (usize, usize),
        done: &mut HashSet<usize>,
    ) {
        // Not by recursion: a chain may be long.
        let mut next = vec![(depth, waiter.0, waiter.1, waiter.1 + 1)];
        while let Some((depth, index, place, end)) = next.pop() {
            if place == end {
                continue;
            }
            next.push((depth, index, place + 1, end));
            let lock = &self.locks[index];
            hops.push(self.hop(depth, index, lock.waiters.get(place)));
            let held = self
                .held
                .get(&lock.record.waiters[place].ticket)
                .into_iter()
                .flatten();
            for held in held.rev().filter(|held| done.insert(**held)) {
                next.push((depth + 1, *held, 0, self.locks[*held].waiters.len()));
            }
        }
    }

    fn hop<'a>(&'a self, depth: usize, index: usize, waiter: Option<&'a Wait>) -> Hop<'a> {
        let (lock, holder) = self.blocker(index);
        Hop {
            depth,
            possible: depth > 0
                && holder.is_some_and(|(ticket, _)| !self.records.is_certain(ticket)),
            lock,
            holder: holder.map(|(_, hold)| hold),
            waiter,
        }
    }

    fn blocker(&self, index: usize) -> Blocker<'_> {
        let lock = &self.locks[index];
        let holders = lock.record.holders.iter().zip(&lock.holders);
        let all: Vec<_> = holders
            .map(|(record, hold)| (record.ticket, hold))
            .collect();
        let holding = all.iter().filter(|(_, hold)| !hold.parked);
        // One permit is enough for a waiter, so the holder that waits itself isn't the reason.
        let most = match lock.kind {
            Some(LockKind::Semaphore) => 1,
            _ => usize::MAX,
        };
        let waits = |ticket| self.records.waits_of(ticket).next().is_some();
        let waiting = holding
            .clone()
            .take(most)
            .find(|(ticket, _)| waits(*ticket));
        (
            lock,
            waiting.or(holding.clone().next()).or(all.first()).copied(),
        )
    }
}

impl<'a> Chain<'a> {
    fn of(hops: Vec<Hop<'a>>) -> Self {
        Self {
            cycle: false,
            possible: false,
            hops,
        }
    }
}
