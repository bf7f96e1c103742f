//! [`Waits`]: who waits for whom.

use std::collections::{HashMap, HashSet};

use auto_mutex_core::store::{Name, Ticket};
use auto_mutex_core::{CycleHops, Holder, LockKind, Records, records};

use super::{Hold, Lock, Wait};

/// Who waits for whom: see [`Operator::waits`](super::Operator::waits).
#[derive(Debug)]
pub struct Waits {
    locks: Vec<Lock>,
    records: Records,
    /// The certain and the possible ones.
    cycles: [Vec<CycleHops>; 2],
    /// For each lock, the holder shown as the one that others wait for.
    blockers: Vec<Option<usize>>,
    waiters: HashMap<Ticket, WaiterIndex>,
    /// For each waiter, the locks that its task holds, or may hold.
    held: HashMap<Ticket, Vec<usize>>,
}

/// A lock, and the index of one of its waiters.
type WaiterIndex = (usize, usize);

/// Waits that depend on each other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Chain<'a> {
    /// Whether these tasks wait for each other. Such a deadlock is also reported by the library.
    pub cycle: bool,
    /// Whether they would wait for each other if, in each process, the holding task were also the waiting one, which
    /// the store doesn't know.
    pub possible: bool,
    /// In order. The last waiter of a cycle holds the first lock.
    pub hops: Vec<Hop<'a>>,
}

/// A waiter of a lock, and the holder for which it waits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hop<'a> {
    /// 0 for the first lock. Any other lock is held by the nearest preceding waiter whose depth is one less.
    pub depth: usize,
    /// Whether this waiter only possibly holds the lock, because another task of its process may hold it.
    pub possible: bool,
    /// The lock.
    pub lock: &'a Lock,
    /// The holder; of several, one that waits itself, or else the oldest. `None` if the lock has no holder.
    pub holder: Option<&'a Hold>,
    /// `None` if the lock has no waiter.
    pub waiter: Option<&'a Wait>,
}

impl Waits {
    pub(super) fn records(locks: &[Lock]) -> Records {
        records(locks.iter().map(|lock| (&lock.id, &*lock.record)))
    }

    pub(super) fn new(locks: Vec<Lock>, records: Records, cycles: [Vec<CycleHops>; 2]) -> Self {
        let in_cycles: HashSet<_> = cycles.iter().flatten().flatten().map(|hop| hop.1).collect();
        let (mut blockers, mut waiters, mut held) = (Vec::new(), HashMap::new(), HashMap::new());
        for (index, lock) in locks.iter().enumerate() {
            // A waiter needs only one permit, so a holder that waits is not the reason.
            let is_semaphore = lock.kind == Some(LockKind::Semaphore);
            let rank = |place: &usize| {
                let ticket = lock.record.holders[*place].ticket;
                let waits = !is_semaphore && records.waits_of(ticket).next().is_some();
                (
                    lock.holders[*place].parked || lock.holders[*place].kept,
                    !in_cycles.contains(&ticket),
                    !waits,
                )
            };
            let blocker = (0..lock.holders.len()).min_by_key(rank);
            if let Some(holder) = blocker.map(|place| &lock.record.holders[place]) {
                for waiter in records.waits_of(holder.ticket) {
                    held.entry(waiter).or_insert_with(Vec::new).push(index);
                }
            }
            let tickets = lock.record.waiters.iter().map(|waiter| waiter.ticket);
            waiters.extend(tickets.zip((0..).map(|place| (index, place))));
            blockers.push(blocker);
        }
        Self {
            locks,
            records,
            cycles,
            blockers,
            waiters,
            held,
        }
    }

    /// All waits, each once: first the cycles, then the possible ones, then the chains that start with a holder that
    /// does not wait. Chains that start with a leader, whose standbys wait for as long as it leads, come after those.
    #[must_use]
    pub fn chains(&self) -> Vec<Chain<'_>> {
        let (mut chains, mut done) = (Vec::new(), HashSet::new());
        for (cycles, certain) in self.cycles.iter().zip([true, false]) {
            for cycle in cycles {
                let around = self.around(cycle);
                if certain || !around.iter().all(|(_, (index, _))| done.contains(index)) {
                    chains.push(Chain {
                        cycle: certain,
                        possible: !certain,
                        hops: self.hops(around, &mut done),
                    });
                }
            }
        }
        let mut roots: Vec<_> = (0..self.locks.len()).collect();
        roots.sort_by_key(|index| (self.next(*index).is_some(), self.locks[*index].is_seat()));
        for index in roots {
            // A waiter of a condition variable waits for no holder.
            let lock = &self.locks[index];
            let is_linked = lock.kind != Some(LockKind::Condvar) && !lock.waiters.is_empty();
            if is_linked && !done.contains(&index) {
                chains.push(Chain {
                    cycle: false,
                    possible: false,
                    hops: self.hops(self.waiters_of(0, index).collect(), &mut done),
                });
            }
        }
        chains
    }

    /// The chain that ends with this lock, starting with a holder that does not wait. `None` if the lock was not given.
    #[must_use]
    pub fn to_lock(&self, name: &str) -> Option<Chain<'_>> {
        let index = self.locks.iter().position(|lock| lock.name == name)?;
        Some(self.path((index, 0)))
    }

    /// For each waiter whose process `is_asked` selects, the chain that ends with it.
    pub fn to_waiters(&self, mut is_asked: impl FnMut(&Holder) -> bool) -> Vec<Chain<'_>> {
        let all = (0..self.locks.len()).flat_map(|index| self.waiters_of(0, index));
        let all = all.map(|(_, place)| place);
        let who = |&(index, place): &WaiterIndex| self.locks[index].waiters[place].who.as_ref();
        let asked = all.filter(|place| who(place).is_some_and(&mut is_asked));
        asked.map(|place| self.path(place)).collect()
    }

    fn path(&self, mut place: WaiterIndex) -> Chain<'_> {
        let (mut seen, mut hops) = (HashSet::new(), Vec::new());
        while seen.insert(place.0) {
            hops.push(self.hop(1, place));
            match self.next(place.0) {
                Some(next) => place = next,
                None => break,
            }
        }
        hops.reverse();
        for (depth, hop) in hops.iter_mut().enumerate() {
            (hop.depth, hop.possible) = (depth, hop.possible && depth > 0);
        }
        let has = |name: &Name| hops.iter().any(|hop| hop.lock.id == *name);
        let is_in = |cycle: &CycleHops| cycle.iter().any(|(name, ..)| has(name));
        let [cycle, possible] = self
            .cycles
            .each_ref()
            .map(|cycles| cycles.iter().any(is_in));
        Chain {
            cycle,
            possible: possible && !cycle,
            hops,
        }
    }

    fn waiters_of(
        &self,
        depth: usize,
        index: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, WaiterIndex)> {
        (0..self.locks[index].waiters.len()).map(move |place| (depth, (index, place)))
    }

    /// The waiters of each lock in the cycle, the one in the cycle last.
    fn around(&self, cycle: &CycleHops) -> Vec<(usize, WaiterIndex)> {
        let places = cycle
            .iter()
            .filter_map(|(_, _, waiter)| self.waiters.get(waiter));
        let all = places.enumerate().flat_map(|(depth, place)| {
            let all = self.waiters_of(depth, place.0);
            let others = all.filter(move |(_, other)| other != place);
            others.chain([(depth, *place)])
        });
        all.collect()
    }

    /// These waiters, and after each of them those that wait for it. Skips locks in `done`, and adds the others to it.
    fn hops(&self, mut next: Vec<(usize, WaiterIndex)>, done: &mut HashSet<usize>) -> Vec<Hop<'_>> {
        done.extend(next.iter().map(|(_, (index, _))| *index));
        next.reverse();
        let mut hops = Vec::new();
        while let Some((depth, (index, place))) = next.pop() {
            hops.push(self.hop(depth, (index, place)));
            let ticket = self.locks[index].record.waiters[place].ticket;
            for held in self.held.get(&ticket).into_iter().flatten().rev() {
                if done.insert(*held) {
                    next.extend(self.waiters_of(depth + 1, *held).rev());
                }
            }
        }
        hops
    }

    fn hop(&self, depth: usize, (index, place): WaiterIndex) -> Hop<'_> {
        let (lock, blocker) = (&self.locks[index], self.blockers[index]);
        let is_certain =
            blocker.is_none_or(|at| self.records.is_certain(lock.record.holders[at].ticket));
        Hop {
            depth,
            possible: depth > 0 && !is_certain,
            lock,
            holder: blocker.map(|at| &lock.holders[at]),
            waiter: lock.waiters.get(place),
        }
    }

    /// The waiter whose task holds or may hold the lock.
    fn next(&self, index: usize) -> Option<WaiterIndex> {
        let holder = &self.locks[index].record.holders[self.blockers[index]?];
        let waiter = self.records.waits_of(holder.ticket).next()?;
        self.waiters.get(&waiter).copied()
    }
}
