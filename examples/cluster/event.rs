//! The events of a worker, and the text lines that carry them between processes.

use std::fmt;

use crate::clock::Time;

/// An event of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) worker: usize,
    pub(crate) at: Time,
    pub(crate) what: What,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The worker called the method.
    Calls,
    /// The body runs; `token` is the fencing token, or 0 without a lock.
    Enters { token: u64 },
    /// The witness showed this worker that another one is inside.
    Meets { other: usize },
    /// The worker was ordered to stay inside.
    Stays,
    /// The body is about to end.
    Leaves,
    /// The call, or the witness, failed.
    Fails { reason: String },
}

/// Writes the time and the kind of event; the reader knows the worker from whose output it reads.
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
    /// Returns `None` if the line is no event, such as a line cut short by a kill.
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
