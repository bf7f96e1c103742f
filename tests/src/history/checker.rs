//! The search for an order: Wing and Gong's, with Lowe's memory of what was tried.
//!
//! Two things of a specification make it fast, and change no verdict ([`tests`](super) compare it with all orders):
//! ranks, which every order that is allowed must follow, and steps that only help, which are taken as soon as they can be.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// An operation, and when it may have taken effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span<O> {
    /// What was done.
    pub op: O,
    /// By whom.
    pub who: String,
    /// Not before.
    pub from: u64,
    /// Not after. `None`: it is unknown whether it ever did.
    pub to: Option<u64>,
}

/// What is allowed, one operation at a time.
pub trait Specification {
    /// What it is in.
    type State: Clone + Debug + Default + Eq + Hash;
    /// What is done to it.
    type Op: Debug;

    /// The state behind an operation; `None`: it is not allowed.
    fn step(&self, state: &Self::State, op: &Self::Op) -> Option<Self::State>;

    /// Operations with ranks are never allowed behind one with a greater rank.
    fn rank(&self, op: &Self::Op) -> Option<u64>;

    /// Wherever it is allowed, taking it at once forbids nothing that could be done otherwise.
    fn only_helps(&self, op: &Self::Op) -> bool;
}

/// No order is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The best attempt: what could be put in order, by index.
    pub order: Vec<usize>,
    /// What might come next by time, none of which is allowed.
    pub stuck: Vec<usize>,
}

/// An order of all operations that are known to have taken effect, and of some of the others, by index. Fast if the history is
/// sorted by time.
pub fn check<S: Specification>(spec: &S, history: &[Span<S::Op>]) -> Result<Vec<usize>, Violation> {
    let mut search = Search::new(spec, history);
    let mut state = S::State::default();
    let mut best = Violation {
        order: Vec::new(),
        stuck: Vec::new(),
    };
    // Of each step taken: the state before it, and what else could be tried there.
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

/// What is not in order yet.
struct Search<'a, S: Specification> {
    spec: &'a S,
    history: &'a [Span<S::Op>],
    /// By time from which on, with the index; so are the others.
    starts: BTreeSet<(u64, usize)>,
    /// Of those known to have taken effect, by time until when.
    ends: BTreeSet<(u64, usize)>,
    /// The same, by rank.
    ranks: BTreeSet<(u64, usize)>,
    taken: BTreeSet<usize>,
    left: BTreeSet<usize>,
    /// The last taken, what is left before it, and the state.
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

    /// What was not over before any other began.
    fn by_time(&self) -> impl Iterator<Item = usize> {
        let end = self.ends.first().map_or(u64::MAX, |(end, _)| *end);
        let starts = self.starts.range(..=(end, usize::MAX));
        starts.map(|(_, index)| *index)
    }

    /// What can be tried next; the last is the most promising.
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

    /// Whether nothing led to the same before.
    fn is_new(&mut self, state: &S::State) -> bool {
        let last = self.taken.last().copied();
        let gaps = self.left.range(..last.unwrap_or_default());
        let gaps = gaps.copied().collect();
        self.tried.insert((last, gaps, state.clone()))
    }
}
