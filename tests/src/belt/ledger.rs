//! The record of all belts: the items that were moved, the notifications, and the wake-ups.

use std::collections::BTreeMap;

use super::LOG;
use crate::resp::Connection;

/// The totals of all belts.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Items put.
    pub put: u64,
    /// Items taken.
    pub taken: u64,
    /// Items that were taken twice, never put, or out of order.
    pub faults: Vec<String>,
    /// The number of woken waiters, as counted by the notifiers.
    pub notified: u64,
    /// The number of woken waiters, as counted by the waiters.
    pub woken: u64,
}

impl Ledger {
    /// Reads the totals of the belts on the witness at `port`.
    pub fn at(port: u16) -> Self {
        let mut connection = Connection::tcp(port).expect("the witness");
        let log = connection.call(&["LRANGE", LOG, "0", "-1"]).texts();
        Self::of(log.iter().flat_map(|entry| entry.lines()))
    }

    fn of<'a>(log: impl Iterator<Item = &'a str>) -> Self {
        let mut ledger = Self::default();
        let mut belts = BTreeMap::<&str, State>::new();
        for line in log {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                [_, "notified", count] => ledger.notified += number(count),
                [_, "woken"] => ledger.woken += 1,
                [how @ ("put" | "taken"), _, belt, item, _] => {
                    let belt = belts.entry(belt).or_default();
                    let (done, all) = match how {
                        "put" => (&mut belt.put, &mut ledger.put),
                        _ => (&mut belt.taken, &mut ledger.taken),
                    };
                    *done += 1;
                    *all += 1;
                    if number(item) != *done || belt.taken > belt.put {
                        ledger.faults.push(line.to_owned());
                    }
                }
                _ => panic!("at the belt was written {line:?}"),
            }
        }
        ledger
    }
}

/// The progress of one belt.
#[derive(Default)]
struct State {
    put: u64,
    taken: u64,
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
            "put a x 1 10",
            "a notified 2",
            "put b y 1 20",
            "b woken",
            "taken b x 1 40",
            "c woken",
        ];
        let ledger = Ledger::of(log.into_iter());
        assert_eq!((ledger.put, ledger.taken), (2, 1));
        assert_eq!((ledger.notified, ledger.woken), (2, 2));
        assert!(ledger.faults.is_empty());
    }

    #[test]
    fn an_item_that_is_lost_or_comes_twice_is_seen() {
        let lost = ["put a x 1 1", "put a x 2 2", "taken b x 2 3"];
        assert_eq!(Ledger::of(lost.into_iter()).faults.len(), 1);
        let twice = ["put a x 1 1", "taken b x 1 2", "taken c x 1 3"];
        assert_eq!(Ledger::of(twice.into_iter()).faults.len(), 1);
        let elsewhere = ["put a x 1 1", "taken b y 1 2"];
        assert_eq!(Ledger::of(elsewhere.into_iter()).faults.len(), 1);
    }
}
