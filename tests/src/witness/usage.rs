//! The use of one name, by the evidence of its holders.

use std::collections::{BTreeMap, HashMap};

use super::Part;

/// An interval during which a holder's guard was certainly valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) who: String,
    pub(super) entered: u64,
    pub(super) left: u64,
    pub(super) part: Part,
}

/// The use of one name.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// The most units in use at the same time.
    pub most_units: u64,
    /// The most holders at the same time.
    pub most_holders: usize,
    /// Sections that overlap others, and together with them exceed the capacity.
    pub(super) overlaps: Vec<String>,
    /// Sections whose token is wrong: see `Tokens::fault`.
    pub(super) token_faults: Vec<String>,
}

impl Usage {
    /// Computes the use from the sections of one name.
    pub(super) fn of(mut sections: Vec<Held>) -> Self {
        sections.sort_by_key(|held| held.entered);
        let mut usage = Self::default();
        let mut inside: Vec<&Held> = Vec::new();
        let mut tokens = Tokens::default();
        for next in &sections {
            inside.retain(|held| held.left > next.entered);
            inside.push(next);
            let units = inside.iter().map(|held| u64::from(held.part.units)).sum();
            if units > u64::from(next.part.capacity) {
                usage.overlaps.push(format!("{inside:?}"));
            }
            usage.most_units = usage.most_units.max(units);
            usage.most_holders = usage.most_holders.max(inside.len());
            if let Some(before) = tokens.fault(next) {
                let fault = format!("{before}, then {next:?}");
                usage.token_faults.push(fault);
            }
        }
        usage
    }
}

/// The tokens seen so far.
#[derive(Default)]
struct Tokens {
    /// The highest token for each number of units.
    highest: BTreeMap<u32, u64>,
    whose: HashMap<u64, String>,
}

impl Tokens {
    /// What is wrong with the token of `next`, if anything. If two sections together exceed the capacity, the later one
    /// must not have the lower token. Two tasks never have the same token; a downgraded writer keeps its own.
    fn fault(&mut self, next: &Held) -> Option<String> {
        let Part {
            token,
            units,
            capacity,
            ..
        } = next.part;
        let whose = self.whose.entry(token).or_insert_with(|| next.who.clone());
        let shared = (*whose != next.who).then(|| format!("{whose} had the same token"));
        let no_room = capacity.saturating_sub(units) + 1;
        let before = self.highest.range(no_room..).map(|(_, token)| *token).max();
        let late = before.filter(|before| *before > token);
        let late = late.map(|before| format!("token {before} was inside"));
        let highest = self.highest.entry(units).or_default();
        *highest = token.max(*highest);
        shared.or(late)
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, Part, Usage};

    fn held(who: &str, entered: u64, left: u64, token: u64, units: u32) -> Held {
        Held {
            who: who.to_owned(),
            entered,
            left,
            part: Part::some("n", token, units, 3),
        }
    }

    fn faults(sections: &[Held]) -> (usize, usize) {
        let usage = Usage::of(sections.to_vec());
        (usage.overlaps.len(), usage.token_faults.len())
    }

    #[test]
    fn an_overlap_is_seen_even_behind_a_short_section() {
        let turns = [
            held("a", 10, 50, 1, 3),
            held("b", 20, 30, 2, 3),
            held("c", 40, 45, 3, 3),
        ];
        assert_eq!(faults(&turns), (2, 0));
    }

    #[test]
    fn as_many_fit_as_there_are_units() {
        let three = [
            held("a", 10, 50, 1, 1),
            held("b", 20, 50, 3, 1),
            held("c", 30, 50, 2, 1),
        ];
        assert_eq!(faults(&three), (0, 0), "tokens of those beside each other");
        let usage = Usage::of(three.to_vec());
        assert_eq!((usage.most_units, usage.most_holders), (3, 3));
        let four = [&three[..], &[held("d", 49, 50, 4, 1)]].concat();
        assert_eq!(faults(&four), (1, 0));
        let large = [&three[..], &[held("d", 50, 60, 4, 3)]].concat();
        assert_eq!(faults(&large), (0, 0));
        let large = [&three[..], &[held("d", 49, 49, 4, 2)]].concat();
        assert_eq!(faults(&large), (1, 0));
    }

    #[test]
    fn a_token_that_does_not_grow_is_seen() {
        let turns = [
            held("a", 10, 20, 5, 3),
            held("b", 21, 30, 5, 3),
            held("b", 31, 32, 4, 3),
        ];
        assert_eq!(faults(&turns), (0, 2));
        let reader_before = [held("a", 10, 20, 5, 1), held("b", 21, 30, 4, 3)];
        assert_eq!(faults(&reader_before), (0, 1));
        let downgraded = [held("a", 10, 20, 5, 3), held("a", 21, 30, 5, 1)];
        assert_eq!(faults(&downgraded), (0, 0));
    }
}
