//! What a worker tells, and the line that carries it from process to process.

use std::fmt;

use crate::clock::Time;

/// Something that a worker did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) worker: usize,
    pub(crate) at: Time,
    pub(crate) what: What,
}

/// What it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Called the method.
    Calls,
    /// The body runs; the fencing token, 0 without a lock.
    Enters { token: u64 },
    /// The witness showed it another worker inside.
    Meets { other: usize },
    /// It will not leave by itself.
    Stays,
    /// The body is about to end.
    Leaves,
    /// The call, or the witness, failed.
    Fails { reason: String },
}

/// The time and what; the reader knows which worker it reads from.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at.0)?;
        match &self.what {
            What::Calls => write!(f, "calls"),
            What::Enters { token } => write!(f, "enters {token}"),
            What::Meets { other } => write!(f, "meets {other}"),
            What::Stays => write!(f, "stays"),
            What::Leaves => write!(f, "leaves"),
            What::Fails { reason } => write!(f, "fails {}", reason.replace('\n', " ")),
        }
    }
}

impl Event {
    /// `None` for a line that is none, such as one cut short by a kill.
    pub(crate) fn parse(worker: usize, line: &str) -> Option<Self> {
        let (at, rest) = line.split_once(' ')?;
        let (word, argument) = rest.split_once(' ').unwrap_or((rest, ""));
        let what = match word {
            "calls" => What::Calls,
            "enters" => What::Enters {
                token: argument.parse().ok()?,
            },
            "meets" => What::Meets {
                other: argument.parse().ok()?,
            },
            "stays" => What::Stays,
            "leaves" => What::Leaves,
            "fails" => What::Fails {
                reason: argument.to_owned(),
            },
            _ => return None,
        };
        Some(Self {
            worker,
            at: Time(at.parse().ok()?),
            what,
        })
    }
}
