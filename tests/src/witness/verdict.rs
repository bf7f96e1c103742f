//! The verdict on all reports together.

use std::collections::BTreeMap;
use std::time::Duration;

use super::usage::Held;
use super::{Part, Usage};

/// The findings of a [`Witness`](super::Witness).
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The number of sections that each task entered.
    pub entered: BTreeMap<String, u64>,
    /// The number of sections for which there is evidence.
    pub proven: usize,
    /// The use of each name.
    pub usage: BTreeMap<String, Usage>,
    /// Sections that overlap others, and together with them exceed the capacity, by the evidence of their holders.
    pub overlaps: Vec<String>,
    /// Sections with a lower token than an earlier section that they could not overlap, or with the token of another
    /// task.
    pub token_faults: Vec<String>,
    /// Entries at which the plain counter exceeded the capacity; only meaningful if no process is killed.
    pub crowded: usize,
    /// Writes that the registers refused.
    pub stale_writes: usize,
    /// Entries that the registers accepted, although another task had entered with the same token: one of them was
    /// stale.
    pub stale_taken: Vec<String>,
    /// The longest time between two entries.
    pub longest_gap: Duration,
}

impl Verdict {
    pub(super) fn of(log: &[String]) -> Self {
        let mut verdict = Self::default();
        let mut held = BTreeMap::<String, Vec<Held>>::new();
        let mut last_entry = None;
        let mut writers = BTreeMap::new();
        for line in log {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["enter", who, now, taken, ref parts @ ..] => {
                    *verdict.entered.entry(who.to_owned()).or_default() += 1;
                    verdict.crowded += usize::from(parts.iter().any(|part| is_crowded(part)));
                    verdict.stale_writes += usize::from(taken != "1");
                    if taken == "1" {
                        for part in parts.iter().map(|part| Part::parse(part)) {
                            let token = (part.name, part.token);
                            let first = writers.entry(token).or_insert(who);
                            if *first != who {
                                verdict.stale_taken.push(line.clone());
                            }
                        }
                    }
                    let now = number(now);
                    if let Some(last) = last_entry.replace(now) {
                        let gap = Duration::from_micros(now.saturating_sub(last));
                        verdict.longest_gap = verdict.longest_gap.max(gap);
                    }
                }
                ["stale", ..] => verdict.stale_writes += 1,
                ["held", who, entered, left, ref parts @ ..] => {
                    verdict.proven += 1;
                    for part in parts.iter().map(|part| Part::parse(part)) {
                        held.entry(part.name.clone()).or_default().push(Held {
                            who: who.to_owned(),
                            entered: number(entered),
                            left: number(left),
                            part,
                        });
                    }
                }
                _ => panic!("the witness wrote {line:?}"),
            }
        }
        for (name, sections) in held {
            let mut usage = Usage::of(sections);
            verdict.overlaps.append(&mut usage.overlaps);
            verdict.token_faults.append(&mut usage.token_faults);
            verdict.usage.insert(name, usage);
        }
        verdict
    }

    /// Jain's index of fairness between groups of tasks: 1 is perfectly fair. `group` returns the group of a task.
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

/// Whether the plain counter exceeded the capacity at this entry.
fn is_crowded(entry: &str) -> bool {
    let (part, inside) = Part::parse_with_rest(entry);
    number(inside) > u64::from(part.capacity)
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
    fn who_holds_several_names_is_inside_all_of_them() {
        let verdict = verdict(&[
            "held a 10 50 x/1/1/1 y/2/1/1",
            "held b 20 30 z/1/1/1",
            "held c 20 30 y/3/1/1 z/2/1/1",
        ]);
        assert_eq!(verdict.proven, 3);
        assert_eq!(verdict.overlaps.len(), 2);
        assert!(verdict.token_faults.is_empty());
        assert_eq!(verdict.usage["x"].most_holders, 1);
    }

    #[test]
    fn entries_and_gaps_are_counted() {
        let verdict = verdict(&[
            "enter a 1000 1 n/1/1/2/1",
            "enter b 4000 0 n/2/2/2/3",
            "stale b 4001",
        ]);
        assert_eq!((verdict.crowded, verdict.stale_writes), (1, 2));
        assert_eq!(verdict.longest_gap.as_micros(), 3000);
        assert!(verdict.stale_taken.is_empty());
        assert!((verdict.fairness(str::to_owned) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_token_that_two_write_with_is_seen() {
        let twice = |second| {
            verdict(&["enter a 1000 1 n/1/1/1/1", second])
                .stale_taken
                .len()
        };
        assert_eq!(twice("enter b 4000 1 n/1/1/1/1"), 1);
        assert_eq!(twice("enter b 4000 0 n/1/1/1/1"), 0);
        assert_eq!(twice("enter a 4000 1 n/1/1/1/1"), 0);
        assert_eq!(twice("enter b 4000 1 m/1/1/1/1"), 0);
    }
}
