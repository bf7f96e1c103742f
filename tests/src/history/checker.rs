//! Searches for an allowed order of operations: Wing and Gong's algorithm, with Lowe's cache of visited states.
//!
//! Two rules make the search fast without changing its result ([`tests`](super) compare it with an exhaustive search):
//! operations with ranks are taken in the order of their ranks, and an operation that only helps is taken as soon as it
//! is allowed.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// An operation, and the period in which it may have taken effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span<O> {
    /// The operation.
    pub op: O,
    /// The task that did the operation.
    pub who: String,
    /// The operation did not take effect before this time.
    pub from: u64,
    /// The operation took effect by this time; `None` if it may never have taken effect.
    pub to: Option<u64>,
}

/// The specification of an object: which operations are allowed in which state.
pub trait Specification {
    /// The state of the object.
    type State: Clone + Debug + Default + Eq + Hash;
    /// An operation on the object.
    type Op: Debug;

    /// The state after an operation; `None` if the operation is not allowed in `state`.
    fn step(&self, state: &Self::State, op: &Self::Op) -> Option<Self::State>;

    /// The operation's rank, if it has one. An operation is never allowed after an operation with a greater rank.
    fn rank(&self, op: &Self::Op) -> Option<u64>;

    /// Whether the search may take the operation wherever it is allowed: taking it never rules out a later operation.
    fn only_helps(&self, op: &Self::Op) -> bool;
}

/// What is known if no order is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The longest order that was found, as indices of operations.
    pub order: Vec<usize>,
    /// The operations that could come next by their times, none of which is allowed.
    pub stuck: Vec<usize>,
}

/// Finds an allowed order, and returns the indices of its operations. The order contains all operations that are known
/// to have taken effect, and possibly others. The search is fast if the history is sorted by time.
pub fn check<S: Specification>(spec: &S, history: &[Span<S::Op>]) -> Result<Vec<usize>, Violation> {
    let mut search = Search::new(spec, history);
    let mut state = S::State::default();
    let mut best = Violation {
        order: Vec::new(),
        stuck: Vec::new(),
    };
    // For each operation taken: the state before it, its index, and the other choices in that state.
    let mut path: Vec<(S::State, usize, Vec<usize>)> = Vec::new();
    let mut choices = search.choices(&state);
    loop {
        if search.ends.is_empty() {
            return Ok(path.into_iter().map(|(_, taken, _)| taken).collect());
        }
        if path.len() >= best.order.len() && choices.is_empty() {
            best.order = path.iter().map(|(_, taken, _)| *taken).collect();
            best.stuck = search.by_time().collect();
        }
        while choices.is_empty() {
            let Some((before, taken, others)) = path.pop() else {
                return Err(best);
            };
            search.put_back(taken);
            (state, choices) = (before, others);
        }
        let taken = choices.pop().expect("not empty");
        let next = spec.step(&state, &history[taken].op).expect("it was tried");
        search.take(taken);
        let before = std::mem::replace(&mut state, next);
        path.push((before, taken, choices));
        choices = match search.is_new(&state) {
            true => search.choices(&state),
            false => Vec::new(),
        };
    }
}

/// The operations that are in order so far, and those that are left.
struct Search<'a, S: Specification> {
    spec: &'a S,
    history: &'a [Span<S::Op>],
    /// The operations left, by `Span::from`, each with its index.
    starts: BTreeSet<(u64, usize)>,
    /// The operations left that are known to have taken effect, by `Span::to`.
    ends: BTreeSet<(u64, usize)>,
    /// The operations left that have a rank and are known to have taken effect, by rank.
    ranks: BTreeSet<(u64, usize)>,
    taken: BTreeSet<usize>,
    left: BTreeSet<usize>,
    /// The visited states: the greatest index taken, the untaken indices below it, and the object's state.
    tried: HashSet<(Option<usize>, Vec<usize>, S::State)>,
}

impl<'a, S: Specification> Search<'a, S> {
    fn new(spec: &'a S, history: &'a [Span<S::Op>]) -> Self {
        let mut search = Self {
            spec,
            history,
            starts: BTreeSet::new(),
            ends: BTreeSet::new(),
            ranks: BTreeSet::new(),
            taken: BTreeSet::new(),
            left: BTreeSet::new(),
            tried: HashSet::new(),
        };
        for index in 0..history.len() {
            search.put_back(index);
        }
        search
    }

    fn keys(&self, index: usize) -> [Option<(u64, usize)>; 2] {
        let span = &self.history[index];
        let rank = self.spec.rank(&span.op).filter(|_| span.to.is_some());
        [span.to, rank].map(|key| key.map(|key| (key, index)))
    }

    fn put_back(&mut self, index: usize) {
        let [end, rank] = self.keys(index);
        self.starts.insert((self.history[index].from, index));
        self.ends.extend(end);
        self.ranks.extend(rank);
        self.taken.remove(&index);
        self.left.insert(index);
    }

    fn take(&mut self, index: usize) {
        let [end, rank] = self.keys(index);
        self.starts.remove(&(self.history[index].from, index));
        end.map(|end| self.ends.remove(&end));
        rank.map(|rank| self.ranks.remove(&rank));
        self.taken.insert(index);
        self.left.remove(&index);
    }

    /// The remaining operations that could come next by their times: those whose `from` is not after the earliest `to`.
    fn by_time(&self) -> impl Iterator<Item = usize> {
        let end = self.ends.first().map_or(u64::MAX, |(end, _)| *end);
        let starts = self.starts.range(..=(end, usize::MAX));
        starts.map(|(_, index)| *index)
    }

    /// The operations to try next, the most promising one last.
    fn choices(&self, state: &S::State) -> Vec<usize> {
        let least = self.ranks.first().map(|(rank, _)| *rank);
        let op = |index: usize| &self.history[index].op;
        let in_turn = |index: &usize| {
            let rank = self.spec.rank(op(*index));
            rank.is_none() || least.is_none() || rank <= least
        };
        let allowed = |index: &usize| self.spec.step(state, op(*index)).is_some();
        let mut choices: Vec<_> = self.by_time().filter(in_turn).filter(allowed).collect();
        let helps = |index: &&usize| self.spec.only_helps(op(**index));
        if let Some(helps) = choices.iter().find(helps) {
            return vec![*helps];
        }
        choices.sort_by_key(|index| {
            let end = self.history[*index].to.unwrap_or(u64::MAX);
            std::cmp::Reverse((self.spec.rank(op(*index)), end))
        });
        choices
    }

    /// Remembers the current state of the search. Returns false if the search was in this state before.
    fn is_new(&mut self, state: &S::State) -> bool {
        let last = self.taken.last().copied();
        let gaps = self.left.range(..last.unwrap_or_default());
        let gaps = gaps.copied().collect();
        self.tried.insert((last, gaps, state.clone()))
    }
}
