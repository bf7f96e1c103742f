//! Belts of bounded length on the witness, for hand-overs of numbered items: the resources that a mutex each protects while
//! two condition variables say that something was put or taken.
//!
//! Who dies can take no item along, since one script takes and reports it: what can be lost is a notification. Then items
//! lie there and nobody moves; or of those who were said to be woken, fewer report that they were.

mod ledger;
#[cfg(test)]
mod tests;

pub use ledger::Ledger;

use std::fmt;

use crate::resp::Connection;
use crate::witness::PROGRESS;

const STEP: &str = include_str!("step.lua");
const WAITING: &str = "belt:waiting";
pub(crate) const LOG: &str = "belt:log";
const SEATS: &str = "belt:seats";

/// What somebody does at the belt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Puts the next item.
    Put,
    /// Takes the first item.
    Take,
    /// Says that no more items will be put.
    Close,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// Nothing can be put: wait.
    Full,
    /// Nothing can be taken: wait.
    Empty,
    /// Nothing will come any more.
    Closed,
    /// Somebody else has had the mutex since.
    Stale,
}

/// The belt, as one of those who stand at it sees it.
pub struct Belt {
    connection: Connection,
    name: String,
    who: String,
    bound: u32,
    /// They go with the next step, so that they cost no round trip.
    reports: String,
}

impl Belt {
    /// A belt on the witness at `port`, for `bound` items; its name and `who` must not contain spaces.
    pub fn at(port: u16, name: String, who: String, bound: u32) -> Self {
        Self {
            connection: Connection::tcp(port).expect("the witness"),
            name,
            who,
            bound,
            reports: String::new(),
        }
    }

    /// What the holder of the mutex does, who got `token` with it.
    pub fn step(&mut self, token: u64, deed: Deed) -> Outcome {
        let (token, bound) = (format!("{token:020}"), self.bound.to_string());
        let deed = match deed {
            Deed::Put => "put",
            Deed::Take => "take",
            Deed::Close => "close",
        };
        let reports = std::mem::take(&mut self.reports);
        let reply = self.connection.call(&[
            "EVAL",
            STEP,
            "4",
            &format!("belt:named:{}", self.name),
            WAITING,
            LOG,
            PROGRESS,
            &self.who,
            &token,
            deed,
            &bound,
            &reports,
            &self.name,
        ]);
        match reply.text() {
            "done" => Outcome::Done,
            "full" => Outcome::Full,
            "empty" => Outcome::Empty,
            "closed" => Outcome::Closed,
            "stale" => Outcome::Stale,
            other => panic!("the belt answered {other:?}"),
        }
    }

    /// The witness' clock, in microseconds.
    pub fn now(&mut self) -> String {
        crate::witness::now(&mut self.connection).to_string()
    }

    /// It was told that `count` were woken.
    pub fn notified(&mut self, count: u64) {
        self.report(format_args!("notified {count}"));
    }

    /// Its wait ended with a notification.
    pub fn woken(&mut self) {
        self.report(format_args!("woken"));
    }

    fn report(&mut self, what: fmt::Arguments<'_>) {
        if !self.reports.is_empty() {
            self.reports.push('\n');
        }
        self.reports += &format!("{} {what}", self.who);
    }

    /// Hands in the last reports.
    pub fn flush(&mut self) {
        let reports = std::mem::take(&mut self.reports);
        if !reports.is_empty() {
            self.connection.call(&["RPUSH", LOG, &reports]);
        }
    }
}

/// A number that nobody else gets, from 0, for those who have to find partners.
pub fn seat(port: u16) -> u64 {
    let mut connection = Connection::tcp(port).expect("the witness");
    let seat = connection.call(&["INCR", SEATS]).int();
    u64::try_from(seat - 1).unwrap_or_default()
}
