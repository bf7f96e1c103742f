//! Belts of bounded length on the witness, for contests in which tasks pass on numbered items. A mutex protects each
//! belt, and two condition variables signal that an item was put or taken.
//!
//! A killed task cannot lose an item, because one script both takes and reports it. It can lose a notification, though.
//! Then items stay on the belt with no task to move them, or fewer tasks report a wake-up than the notifiers counted.

mod ledger;
#[cfg(test)]
mod tests;

pub use ledger::Ledger;

use std::fmt;

use crate::resp::Connection;
use crate::witness::PROGRESS;

const STEP: &str = include_str!("step.lua");
pub(crate) const LOG: &str = "belt:log";

/// An operation on the belt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Puts the next item.
    Put,
    /// Takes the first item.
    Take,
    /// Closes the belt: no more items will be put.
    Close,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The operation was done.
    Done,
    /// The belt is full: the task must wait.
    Full,
    /// The belt is empty: the task must wait.
    Empty,
    /// The belt is closed: no item can be put, or none is left to take.
    Closed,
    /// Another task has used the belt with a later token.
    Stale,
}

/// One task's access to a belt.
pub struct Belt {
    connection: Connection,
    name: String,
    who: String,
    bound: u32,
    /// The reports to send with the next step, which saves them a round trip.
    reports: String,
}

impl Belt {
    /// Opens the belt `name` of `bound` items on the witness at `port`. `name` and `who` must not contain spaces.
    pub fn at(port: u16, name: String, who: String, bound: u32) -> Self {
        Self {
            connection: Connection::tcp(port).expect("the witness"),
            name,
            who,
            bound,
            reports: String::new(),
        }
    }

    /// Does one operation as the holder of the mutex; `token` is the fencing token of its grant.
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
            "3",
            &format!("belt:named:{}", self.name),
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

    /// The time of the witness's clock, in microseconds.
    pub fn now(&mut self) -> String {
        crate::witness::now(&mut self.connection).to_string()
    }

    /// Reports that this task's notification woke `count` waiters.
    pub fn notified(&mut self, count: u64) {
        self.report(format_args!("notified {count}"));
    }

    /// Reports that this task's wait ended with a notification.
    pub fn woken(&mut self) {
        self.report(format_args!("woken"));
    }

    fn report(&mut self, what: fmt::Arguments<'_>) {
        if !self.reports.is_empty() {
            self.reports.push('\n');
        }
        self.reports += &format!("{} {what}", self.who);
    }

    /// Sends the reports that still wait for a next step.
    pub fn flush(&mut self) {
        let reports = std::mem::take(&mut self.reports);
        if !reports.is_empty() {
            self.connection.call(&["RPUSH", LOG, &reports]);
        }
    }
}
