//! The events that workers record, one per line.

use std::fmt;

/// An event of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time of [`now`](super::now), in nanoseconds.
    pub at: u64,
    /// The task, as `PID/TASK`.
    pub who: String,
    /// What happened to the task.
    pub what: What,
}

/// What happened. The time of a call is read before the call, and the time of an answer after the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The task asks for a lock.
    Ask,
    /// The task has got the lock.
    Got {
        /// The name.
        name: String,
        /// The fencing token.
        token: u64,
        /// The units that were granted.
        units: u32,
        /// The units of the name.
        capacity: u32,
    },
    /// The task has not got the lock.
    None,
    /// The guard confirmed that the task holds the lock.
    Sure,
    /// The task asks to keep only this number of units.
    Shrink(u32),
    /// The store has taken the other units back.
    Shrunk,
    /// The task releases the lock, or drops its guard.
    Leave,
    /// The release was answered; true if the lock was held until the release.
    Left(bool),
    /// The task reads the register.
    Read,
    /// The value that the task read; `None` if the register refused the token.
    Value(Option<String>),
    /// The task writes this value to the register.
    Write(String),
    /// Whether the register accepted the write.
    Wrote(bool),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, who, what } = self;
        write!(f, "{at} {who} ")?;
        match what {
            What::Ask => write!(f, "ask"),
            What::Got {
                name,
                token,
                units,
                capacity,
            } => write!(f, "got {name} {token} {units} {capacity}"),
            What::None => write!(f, "none"),
            What::Sure => write!(f, "sure"),
            What::Shrink(units) => write!(f, "shrink {units}"),
            What::Shrunk => write!(f, "shrunk"),
            What::Leave => write!(f, "leave"),
            What::Left(held) => write!(f, "left {held}"),
            What::Read => write!(f, "read"),
            What::Value(Some(value)) => write!(f, "value {value}"),
            What::Value(None) => write!(f, "refused"),
            What::Write(value) => write!(f, "write {value}"),
            What::Wrote(taken) => write!(f, "wrote {taken}"),
        }
    }
}

impl Event {
    /// Parses a line that [`Display`](fmt::Display) wrote.
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, who, ref what @ ..] = words[..] else {
            return None;
        };
        let what = match *what {
            ["ask"] => What::Ask,
            ["got", name, token, units, capacity] => What::Got {
                name: name.to_owned(),
                token: token.parse().ok()?,
                units: units.parse().ok()?,
                capacity: capacity.parse().ok()?,
            },
            ["none"] => What::None,
            ["sure"] => What::Sure,
            ["shrink", units] => What::Shrink(units.parse().ok()?),
            ["shrunk"] => What::Shrunk,
            ["leave"] => What::Leave,
            ["left", held] => What::Left(held.parse().ok()?),
            ["read"] => What::Read,
            ["value", value] => What::Value(Some(value.to_owned())),
            ["refused"] => What::Value(None),
            ["write", value] => What::Write(value.to_owned()),
            ["wrote", taken] => What::Wrote(taken.parse().ok()?),
            _ => return None,
        };
        Some(Self {
            at: at.parse().ok()?,
            who: who.to_owned(),
            what,
        })
    }
}
