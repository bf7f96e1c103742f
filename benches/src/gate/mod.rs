//! The goals, and the check whether a report meets them.

mod goals;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::measure::Summary;
use crate::results::{Report, number};

/// The limit of a goal: the median must be at most, or at least, this value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "≤ {}", number(*most)),
            Self::AtLeast(least) => write!(f, "≥ {}", number(*least)),
        }
    }
}

/// Looks up a figure in a report; `None` if the figure was not measured.
type Find = Box<dyn Fn(&Report) -> Option<Summary>>;

/// One goal: a figure and its limit.
pub(crate) struct Goal {
    what: &'static str,
    limit: Limit,
    /// Whether the figure is nearly independent of the machine.
    count: bool,
    find: Find,
}

/// A goal, and the figure that was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) limit: Limit,
    pub(crate) count: bool,
    /// `None` if the figure was not measured.
    pub(crate) found: Option<Summary>,
    pub(crate) met: bool,
}

impl Verdict {
    /// Returns the ratio of the median to the limit as a text.
    pub(crate) fn margin(&self) -> String {
        let (Limit::AtMost(limit) | Limit::AtLeast(limit)) = self.limit;
        match self.found {
            Some(found) if limit != 0.0 && found.median != 0.0 => {
                let ratio = found.median / limit;
                format!("{} × the limit", number(ratio))
            }
            _ => String::new(),
        }
    }
}

/// Compares a report with all goals.
pub(crate) fn judge(report: &Report) -> Vec<Verdict> {
    let verdict = |goal: Goal| {
        let found = (goal.find)(report);
        Verdict {
            what: goal.what.to_owned(),
            limit: goal.limit,
            count: goal.count,
            found,
            met: found.is_some_and(|found| goal.limit.holds(found.median)),
        }
    };
    goals::all().into_iter().map(verdict).collect()
}

/// Returns whether all measured goals are met. With `counts`, only goals that are nearly independent of the machine are
/// considered. A run that measured nothing does not pass.
pub(crate) fn passes(verdicts: &[Verdict], counts: bool) -> bool {
    let mut judged = verdicts
        .iter()
        .filter(|verdict| verdict.found.is_some() && (verdict.count || !counts))
        .peekable();
    judged.peek().is_some() && judged.all(|verdict| verdict.met)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(found: Option<f64>, limit: Limit, count: bool) -> Verdict {
        Verdict {
            what: String::new(),
            limit,
            count,
            found: Summary::of(found),
            met: found.is_some_and(|found| limit.holds(found)),
        }
    }

    #[test]
    fn a_missed_goal_fails_and_what_was_not_measured_does_not() {
        let met = verdict(Some(1.0), Limit::AtMost(1.0), true);
        let missed = verdict(Some(1.0), Limit::AtLeast(1.1), false);
        let absent = verdict(None, Limit::AtMost(1.0), true);
        assert!(passes(&[met.clone(), absent.clone()], false));
        assert!(!passes(&[met.clone(), missed.clone()], false));
        assert!(passes(&[met, missed], true));
        assert!(!passes(&[absent], false));
    }
}
