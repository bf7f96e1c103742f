//! Compares the search with an exhaustive search.

use crate::history::{Lock, Register, Span, Specification, Step, Update, check};
use crate::seed::Seed;

/// Whether any order of `left` is allowed after `state`: an exhaustive search, without ranks and without a cache.
fn any_order<S: Specification>(
    spec: &S,
    history: &[Span<S::Op>],
    left: &[usize],
    state: &S::State,
) -> bool {
    let ends = left.iter().filter_map(|index| history[*index].to);
    let Some(end) = ends.min() else {
        return true;
    };
    left.iter().enumerate().any(|(at, index)| {
        let span = &history[*index];
        let Some(next) = spec.step(state, &span.op).filter(|_| span.from <= end) else {
            return false;
        };
        let rest = [&left[..at], &left[at + 1..]].concat();
        any_order(spec, history, &rest, &next)
    })
}

/// Asserts that both searches agree. Returns whether an order is allowed.
fn both<S: Specification>(spec: &S, history: &[Span<S::Op>]) -> bool {
    let all: Vec<_> = (0..history.len()).collect();
    let expected = any_order(spec, history, &all, &S::State::default());
    let found = check(spec, history);
    assert_eq!(found.is_ok(), expected, "{history:#?}\n{found:?}");
    if let Ok(order) = found {
        is_an_order(spec, history, &order);
    }
    expected
}

/// Asserts that `order` is allowed, agrees with the times, and is complete.
fn is_an_order<S: Specification>(spec: &S, history: &[Span<S::Op>], order: &[usize]) {
    let mut state = S::State::default();
    for (at, index) in order.iter().enumerate() {
        state = spec.step(&state, &history[*index].op).expect("allowed");
        let behind = order[at + 1..]
            .iter()
            .filter_map(|later| history[*later].to);
        assert!(behind.min().is_none_or(|end| history[*index].from <= end));
    }
    let known = (0..history.len()).filter(|index| history[*index].to.is_some());
    assert!(known.into_iter().all(|index| order.contains(&index)));
}

fn span<O>(seed: &mut Seed, op: O, from: u64, length: u64, unknown: u64) -> Span<O> {
    let to = (seed.below(unknown) > 0).then(|| from + 1 + seed.below(length));
    let who = String::new();
    Span { op, who, from, to }
}

#[test]
fn locks() {
    let (mut fine, mut wrong) = (0, 0);
    for seed in 0..3000 {
        let mut seed = Seed::new(seed);
        let lock = Lock {
            capacity: 1 + seed.below(3) as u32,
        };
        let mut history = Vec::new();
        for hold in 0..1 + seed.below(4) as usize {
            let units = 1 + seed.below(lock.capacity.into()) as u32;
            let from = seed.below(12);
            let token = 1 + from + seed.below(8);
            let grant = Step::Grant { hold, units, token };
            let from = 10 * from;
            history.push(span(&mut seed, grant, from, 40, u64::MAX));
            let later = from + seed.below(60);
            if units > 1 && seed.below(2) == 0 {
                let shrink = Step::Shrink { hold, units: 1 };
                history.push(span(&mut seed, shrink, later, 30, 3));
            }
            let end = Step::End { hold };
            let later = later + seed.below(20);
            history.push(span(&mut seed, end, later, 30, 2));
        }
        history.sort_by_key(|span| span.from);
        match both(&lock, &history) {
            true => fine += 1,
            false => wrong += 1,
        }
    }
    assert!(fine > 300 && wrong > 300, "{fine} fine, {wrong} wrong");
}

#[test]
fn registers() {
    let (mut fine, mut wrong) = (0, 0);
    for seed in 0..3000 {
        let mut seed = Seed::new(seed);
        let values = ["", "a", "b", "c"];
        let mut value = 0;
        let mut history = Vec::new();
        for number in 0..1 + seed.below(6) {
            let read = match seed.below(6) {
                0 => seed.below(4) as usize,
                _ => value,
            };
            let wrote = (seed.below(3) > 0).then(|| (value + 1) % values.len());
            let update = Update {
                token: 1 + number / 2 + seed.below(2),
                read: values[read].to_owned(),
                wrote: wrote.map(|wrote| values[wrote].to_owned()),
            };
            let from = 10 * number + seed.below(15);
            let done = span(&mut seed, update, from, 25, 5);
            if done.to.is_some() || seed.below(2) == 0 {
                value = wrote.unwrap_or(value);
            }
            history.push(done);
        }
        history.sort_by_key(|span| span.from);
        match both(&Register, &history) {
            true => fine += 1,
            false => wrong += 1,
        }
    }
    assert!(fine > 300 && wrong > 300, "{fine} fine, {wrong} wrong");
}
