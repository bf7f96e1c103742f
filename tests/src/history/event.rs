//! What is written down, a line each.

use std::fmt;

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds of [`now`](super::now).
    pub at: u64,
    /// Whom it happened to: `PID/TASK`.
    pub who: String,
    /// What.
    pub what: What,
}

/// What happened. Times of calls are read before them, of answers behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It asks for a lock.
    Ask,
    /// It has it.
    Got {
        /// The name.
        name: String,
        /// The fencing token.
        token: u64,
        /// What was granted.
        units: u32,
        /// What there is.
        capacity: u32,
    },
    /// It has not got it.
    None,
    /// It holds, said the guard.
    Sure,
    /// It gives back what it has beyond these units.
    Shrink(u32),
    /// It has done so.
    Shrunk,
    /// It releases, or drops the guard.
    Leave,
    /// The release was answered; whether it was held until then.
    Left(bool),
    /// It reads the register.
    Read,
    /// What it read; `None`: its token was refused.
    Value(Option<String>),
    /// It writes the register.
    Write(String),
    /// Whether the register took it.
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
    /// What [`Display`](fmt::Display) wrote.
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
