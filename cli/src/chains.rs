//! Chains of waits between processes.
//!
//! A process that holds one lock and waits for another links the two locks. The store knows processes, not tasks. Two
//! tasks of one process may be independent of each other, so a cycle need not be a deadlock.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{HashSet, VecDeque};

use auto_mutex::LockKind;
use auto_mutex::operator::{Hold, Lock, Wait};
use serde::Serialize;

use crate::output::json::{self, Holder, Waiter};
use crate::output::words::Who;

/// A process: its host, pod and process id. Processes in two pods of one host may have the same process id.
pub(crate) type Party<'a> = (&'a str, Option<&'a str>, u32);

/// A lock by its index, a waiter of this lock, and the hold that blocks this waiter.
type Step<'a> = (usize, &'a Wait, &'a Hold);

pub(crate) fn party(who: &Who) -> Party<'_> {
    let known = who
        .as_ref()
        .map(|who| (&*who.host, who.pod.as_deref(), who.pid));
    known.unwrap_or(("", None, 0))
}

/// The locks that have waiters, and the processes that hold these locks or wait for them.
pub(crate) struct Graph<'a> {
    locks: Vec<&'a Lock>,
    /// For each process, the locks with waiters that it holds.
    held: HashMap<Party<'a>, Vec<usize>>,
    /// For each process, the locks that it waits for. The longest wait comes first.
    wanted: HashMap<Party<'a>, Vec<(usize, &'a Wait)>>,
}

/// All waits that one process blocks, directly or through other processes.
pub(crate) struct Chain<'a> {
    pub(crate) cycle: bool,
    /// A process that waits for no other process, a process of the cycle, or the holder of a remaining lock (see
    /// [`Graph::chains`]). `None`: the lock has no holder.
    pub(crate) root: Option<&'a Who>,
    pub(crate) branches: Vec<Branch<'a>>,
}

/// A lock and its waiters, each with the locks that the waiter's process holds.
pub(crate) struct Branch<'a> {
    pub(crate) lock: &'a Lock,
    /// The hold in this chain: the oldest hold of the lock, or the hold that belongs to the cycle.
    pub(crate) holder: Option<&'a Hold>,
    pub(crate) waiters: Vec<(&'a Wait, Vec<Branch<'a>>)>,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(locks: &'a [Lock]) -> Self {
        // A waiter of a condition variable does not wait for a holder.
        let is_linked =
            |lock: &&Lock| !lock.waiters.is_empty() && lock.kind != Some(LockKind::Condvar);
        let mut locks: Vec<_> = locks.iter().filter(is_linked).collect();
        locks.sort_by(|a, b| a.name.cmp(&b.name));
        let (mut held, mut wanted) = (HashMap::new(), HashMap::new());
        for (index, lock) in locks.iter().enumerate() {
            for hold in lock.holders.iter().filter(|hold| !hold.parked) {
                let all: &mut Vec<usize> = held.entry(party(&hold.who)).or_default();
                if !all.contains(&index) {
                    all.push(index);
                }
            }
            for wait in &lock.waiters {
                let all: &mut Vec<(usize, &Wait)> = wanted.entry(party(&wait.who)).or_default();
                all.push((index, wait));
            }
        }
        for all in wanted.values_mut() {
            all.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.waited));
        }
        Self {
            locks,
            held,
            wanted,
        }
    }

    /// The holds of other processes that block `who`, each with the lock and the wait of `who`.
    fn blockers(&self, who: Party<'a>) -> impl Iterator<Item = Step<'a>> {
        let wanted = self.wanted.get(&who).into_iter().flatten();
        wanted.flat_map(move |(index, wait)| {
            let holders = self.locks[*index].holders.iter();
            let others = holders.filter(move |hold| !hold.parked && party(&hold.who) != who);
            // One permit is enough for a waiter, so it does not wait for all holders. The oldest holder represents
            // them.
            let most = match self.locks[*index].kind {
                Some(LockKind::Semaphore) => 1,
                _ => usize::MAX,
            };
            others.take(most).map(|hold| (*index, *wait, hold))
        })
    }

    /// All chains: first the cycles, then the chains whose root waits for no other process, then the remaining locks. A
    /// remaining lock has no holder, or its holder is in a cycle.
    pub(crate) fn chains(&self) -> Vec<Chain<'a>> {
        let mut done = HashSet::new();
        let mut chains = Vec::new();
        for index in 0..self.locks.len() {
            for hold in &self.locks[index].holders {
                if let Some(cycle) = self.cycle_of(party(&hold.who))
                    && !done.contains(&cycle[0].0)
                {
                    chains.push(self.ring(&cycle, &mut done));
                }
            }
        }
        for index in 0..self.locks.len() {
            let lock = self.locks[index];
            if let Some(first) = first_holder(lock)
                && self.blockers(party(&first.who)).next().is_none()
                && !done.contains(&index)
            {
                let branches = self.held_by(&first.who, &mut done);
                chains.push(Chain {
                    cycle: false,
                    root: Some(&first.who),
                    branches,
                });
            }
        }
        for index in 0..self.locks.len() {
            if !done.contains(&index) {
                let lock = self.locks[index];
                chains.push(Chain {
                    cycle: false,
                    root: first_holder(lock).map(|hold| &hold.who),
                    branches: vec![self.branch(index, first_holder(lock), &mut done)],
                });
            }
        }
        chains
    }

    /// The shortest cycle of processes through `start`.
    fn cycle_of(&self, start: Party<'a>) -> Option<Vec<Step<'a>>> {
        let mut from: HashMap<Party<'a>, (Party<'a>, Step<'a>)> = HashMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(who) = next.pop_front() {
            for step in self.blockers(who) {
                let blocker = party(&step.2.who);
                if blocker == start {
                    let mut steps = vec![step];
                    let mut at = who;
                    while at != start {
                        let (before, step) = from.get(&at)?;
                        steps.push(*step);
                        at = *before;
                    }
                    return Some(steps);
                }
                if let Entry::Vacant(entry) = from.entry(blocker) {
                    entry.insert((who, step));
                    next.push_back(blocker);
                }
            }
        }
        None
    }

    /// A cycle with all waiters of its locks, and the waits that the waiters outside of the cycle block.
    fn ring(&self, steps: &[Step<'a>], done: &mut HashSet<usize>) -> Chain<'a> {
        done.extend(steps.iter().map(|step| step.0));
        let mut inner: Vec<Branch<'a>> = Vec::new();
        for (index, wait, hold) in steps.iter().rev() {
            let lock = self.locks[*index];
            let mut waiters = vec![(*wait, std::mem::take(&mut inner))];
            for other in lock
                .waiters
                .iter()
                .filter(|other| other.ticket != wait.ticket)
            {
                waiters.push((other, self.held_by(&other.who, done)));
            }
            waiters.sort_by_key(|(wait, _)| wait.place);
            inner.push(Branch {
                lock,
                holder: Some(*hold),
                waiters,
            });
        }
        Chain {
            cycle: true,
            root: steps.first().map(|step| &step.2.who),
            branches: inner,
        }
    }

    /// The locks of which this process is the first holder, except those that are already in a chain.
    fn held_by(&self, who: &'a Who, done: &mut HashSet<usize>) -> Vec<Branch<'a>> {
        let held = self.held.get(&party(who)).into_iter().flatten();
        let mut branches = Vec::new();
        for index in held {
            let first = first_holder(self.locks[*index]);
            let is_first = first.is_some_and(|hold| party(&hold.who) == party(who));
            if is_first && !done.contains(index) {
                branches.push(self.branch(*index, first, done));
            }
        }
        branches
    }

    fn branch(
        &self,
        index: usize,
        holder: Option<&'a Hold>,
        done: &mut HashSet<usize>,
    ) -> Branch<'a> {
        done.insert(index);
        let lock = self.locks[index];
        let waiters = lock.waiters.iter().map(|wait| {
            // If the process waits for a lock that it holds itself, its locks are already in the chain.
            let is_itself = holder.is_some_and(|hold| party(&hold.who) == party(&wait.who));
            let branches = match is_itself {
                true => Vec::new(),
                false => self.held_by(&wait.who, done),
            };
            (wait, branches)
        });
        Branch {
            lock,
            holder,
            waiters: waiters.collect(),
        }
    }

    /// The chain that ends with the wait of `who`, from its root. Each step is a lock, a wait for this lock, and the
    /// hold that blocks the wait. The flag is `true` if following the waits led to a cycle.
    pub(crate) fn path_to(&self, who: Party<'a>) -> (Vec<(&'a Lock, &'a Wait, &'a Hold)>, bool) {
        let mut seen = HashSet::from([who]);
        let (mut path, mut at, mut cycle) = (Vec::new(), who, false);
        while let Some((index, wait, hold)) = self.blockers(at).next() {
            path.push((self.locks[index], wait, hold));
            at = party(&hold.who);
            if !seen.insert(at) {
                cycle = true;
                break;
            }
        }
        path.reverse();
        (path, cycle)
    }
}

/// The holder that has held the lock longest. Holders that are only kept for `at_least` do not count.
pub(crate) fn first_holder(lock: &Lock) -> Option<&Hold> {
    lock.holders.iter().find(|hold| !hold.parked)
}

/// A chain as a document.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    pub(crate) cycle: bool,
    pub(crate) hops: Vec<Hop>,
}

/// One waiter of one lock. `depth` is 0 for the locks of the root.
#[derive(Debug, Serialize)]
pub(crate) struct Hop {
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) kind: Option<&'static str>,
    pub(crate) holder: Option<Holder>,
    pub(crate) waiter: Option<Waiter>,
}

impl Hop {
    pub(crate) fn of(
        depth: usize,
        lock: &Lock,
        holder: Option<&Hold>,
        waiter: Option<&Wait>,
    ) -> Self {
        Self {
            depth,
            name: lock.name.clone(),
            kind: lock.kind.map(json::kind),
            holder: holder.map(Holder::of),
            waiter: waiter.map(Waiter::of),
        }
    }
}

impl Document {
    pub(crate) fn of(chain: &Chain<'_>) -> Self {
        let mut hops = Vec::new();
        add(&mut hops, 0, &chain.branches);
        Self {
            cycle: chain.cycle,
            hops,
        }
    }
}

/// Adds a hop for each waiter, and directly after it the waits that this waiter's process blocks.
fn add(hops: &mut Vec<Hop>, depth: usize, branches: &[Branch<'_>]) {
    for branch in branches {
        for (wait, more) in &branch.waiters {
            hops.push(Hop::of(depth, branch.lock, branch.holder, Some(wait)));
            add(hops, depth + 1, more);
        }
    }
}

#[cfg(test)]
mod tests;
