//! What the reports, taken together, say.

use std::collections::BTreeMap;
use std::time::Duration;

/// An interval during which a holder surely believed to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    who: String,
    token: u64,
    entered: u64,
    left: u64,
}

/// What a [`Witness`](super::Witness) saw.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Sections entered, by who entered.
    pub entered: BTreeMap<String, u64>,
    /// Sections for which there is evidence.
    pub proven: usize,
    /// Pairs of sections whose holders believed to hold at the same time.
    pub overlaps: Vec<String>,
    /// Sections that did not bring a higher token than the one before.
    pub token_faults: Vec<String>,
    /// Entries at which the plain counter saw somebody else: only meaningful if nobody is killed.
    pub crowded: usize,
    /// Writes that the register refused.
    pub stale_writes: usize,
    /// The longest time during which nobody entered.
    pub longest_gap: Duration,
}

impl Verdict {
    pub(super) fn of(log: &[String]) -> Self {
        let mut verdict = Self::default();
        let mut held = Vec::new();
        let mut last_entry = None;
        for line in log {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["enter", who, _, now, inside, taken] => {
                    *verdict.entered.entry(who.to_owned()).or_default() += 1;
                    verdict.crowded += usize::from(inside != "1");
                    verdict.stale_writes += usize::from(taken != "1");
                    let now = number(now);
                    if let Some(last) = last_entry.replace(now) {
                        let gap = Duration::from_micros(now.saturating_sub(last));
                        verdict.longest_gap = verdict.longest_gap.max(gap);
                    }
                }
                ["stale", ..] => verdict.stale_writes += 1,
                ["held", who, token, entered, left] => held.push(Held {
                    who: who.to_owned(),
                    token: number(token),
                    entered: number(entered),
                    left: number(left),
                }),
                _ => panic!("the witness wrote {line:?}"),
            }
        }
        verdict.judge(held);
        verdict
    }

    fn judge(&mut self, mut held: Vec<Held>) {
        held.sort_by_key(|held| held.entered);
        self.proven = held.len();
        let Some(mut longest) = held.first().cloned() else {
            return;
        };
        for next in held.into_iter().skip(1) {
            if next.entered < longest.left {
                self.overlaps.push(format!("{longest:?} and {next:?}"));
            }
            if next.token <= longest.token {
                self.token_faults
                    .push(format!("{longest:?}, then {next:?}"));
            }
            if next.left >= longest.left {
                longest = next;
            }
        }
    }

    /// Jain's index of fairness between groups of those who entered: 1 is perfectly fair. `group` says which
    /// group somebody belongs to.
    pub fn fairness(&self, group: impl Fn(&str) -> String) -> f64 {
        let mut groups = BTreeMap::<String, f64>::new();
        for (who, count) in &self.entered {
            *groups.entry(group(who)).or_default() += *count as f64;
        }
        let sum: f64 = groups.values().sum();
        let squares: f64 = groups.values().map(|count| count * count).sum();
        sum * sum / (groups.len() as f64 * squares)
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    fn verdict(lines: &[&str]) -> Verdict {
        Verdict::of(
            &lines
                .iter()
                .map(|&line| line.to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn one_after_the_other_is_fine() {
        let verdict = verdict(&["held a 1 10 20", "held b 2 21 30", "held a 3 31 31"]);
        assert!(verdict.overlaps.is_empty() && verdict.token_faults.is_empty());
        assert_eq!(verdict.proven, 3);
    }

    #[test]
    fn an_overlap_is_seen_even_behind_a_short_section() {
        let verdict = verdict(&["held a 1 10 50", "held b 2 20 30", "held c 3 40 45"]);
        assert_eq!(verdict.overlaps.len(), 2);
    }

    #[test]
    fn a_token_that_does_not_grow_is_seen() {
        let verdict = verdict(&["held a 5 10 20", "held b 5 21 30", "held b 4 31 32"]);
        assert_eq!(verdict.token_faults.len(), 2);
    }

    #[test]
    fn entries_and_gaps_are_counted() {
        let verdict = verdict(&["enter a 1 1000 1 1", "enter b 2 4000 2 0", "stale b 2 4001"]);
        assert_eq!((verdict.crowded, verdict.stale_writes), (1, 2));
        assert_eq!(verdict.longest_gap.as_micros(), 3000);
        assert!((verdict.fairness(str::to_owned) - 1.0).abs() < 1e-9);
    }
}
