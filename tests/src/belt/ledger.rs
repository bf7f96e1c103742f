//! What was moved, and what was said and heard.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{BELT, LOG, WAITING};
use crate::resp::Connection;

/// The books of a belt.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Items put.
    pub put: u64,
    /// Items taken.
    pub taken: u64,
    /// Items still lying there.
    pub left: u64,
    /// Items that were taken twice, never put, or out of order.
    pub faults: Vec<String>,
    /// How many were woken, going by those who notified.
    pub notified: u64,
    /// How many were woken, going by those who waited.
    pub woken: u64,
    /// Items moved, by who moved them.
    pub moved: BTreeMap<String, u64>,
    /// The longest time during which nothing was moved.
    pub longest_gap: Duration,
}

impl Ledger {
    /// The books of the belt on the witness at `port`.
    pub fn at(port: u16) -> Self {
        let mut connection = Connection::tcp(port).expect("the witness");
        let log = connection.call(&["LRANGE", LOG, "0", "-1"]).texts();
        let left = connection.call(&["LLEN", BELT]).int();
        let mut ledger = Self::of(log.iter().flat_map(|entry| entry.lines()));
        ledger.left = u64::try_from(left).unwrap_or_default();
        ledger
    }

    /// Who stood waiting when they last looked, and for what: for a message.
    pub fn waiting(port: u16) -> String {
        let mut connection = Connection::tcp(port).expect("the witness");
        let items = connection.call(&["LRANGE", BELT, "0", "-1"]);
        let waiting = connection.call(&["HGETALL", WAITING]);
        format!("items {items}, last seen {waiting}")
    }

    fn of<'a>(log: impl Iterator<Item = &'a str>) -> Self {
        let mut ledger = Self::default();
        let mut last_move = None;
        for line in log {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                [_, "notified", count] => ledger.notified += number(count),
                [_, "woken"] => ledger.woken += 1,
                [how @ ("put" | "took"), who, item, now] => {
                    let done = match how {
                        "put" => &mut ledger.put,
                        _ => &mut ledger.taken,
                    };
                    *done += 1;
                    if number(item) != *done || ledger.taken > ledger.put {
                        ledger.faults.push(line.to_owned());
                    }
                    *ledger.moved.entry(who.to_owned()).or_default() += 1;
                    let now = number(now);
                    if let Some(last) = last_move.replace(now) {
                        let gap = Duration::from_micros(now.saturating_sub(last));
                        ledger.longest_gap = ledger.longest_gap.max(gap);
                    }
                }
                _ => panic!("at the belt was written {line:?}"),
            }
        }
        ledger
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

#[cfg(test)]
mod tests {
    use super::Ledger;

    #[test]
    fn what_was_said_and_heard_is_counted() {
        let log = [
            "put a 1 10",
            "a notified 2",
            "b woken",
            "took b 1 40",
            "c woken",
        ];
        let ledger = Ledger::of(log.into_iter());
        assert_eq!((ledger.put, ledger.taken), (1, 1));
        assert_eq!((ledger.notified, ledger.woken), (2, 2));
        assert!(ledger.faults.is_empty());
        assert_eq!(ledger.longest_gap.as_micros(), 30);
    }

    #[test]
    fn an_item_that_is_lost_or_comes_twice_is_seen() {
        let lost = ["put a 1 1", "put a 2 2", "took b 2 3"];
        assert_eq!(Ledger::of(lost.into_iter()).faults.len(), 1);
        let twice = ["put a 1 1", "took b 1 2", "took c 1 3"];
        assert_eq!(Ledger::of(twice.into_iter()).faults.len(), 1);
    }
}
