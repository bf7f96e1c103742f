//! The labels of the metrics. All values are constants of the program.

use crate::base::error::{HoldKind, LockError, LossCause};
use crate::observer::{CAUSE, KIND, OPERATION, OUTCOME, SITE, VIA};
use crate::store::{Op, Share};

/// The label of handles without a `metrics_label`.
pub(crate) const BY_HAND: &str = "by_hand";

/// The label of leaders without one.
pub(crate) const SEAT: &str = "leader";

type Label = (&'static str, &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockLabels {
    site: &'static str,
    kind: HoldKind,
}

impl LockLabels {
    pub(crate) fn new(site: &'static str, kind: HoldKind) -> Self {
        Self { site, kind }
    }

    pub(crate) fn of(site: &'static str, share: &Share) -> Self {
        Self::new(site, share.hold_kind())
    }

    pub(crate) fn kind(self) -> HoldKind {
        self.kind
    }

    pub(crate) fn pairs(self) -> [Label; 2] {
        [(SITE, self.site), (KIND, self.kind.word())]
    }

    pub(crate) fn lost(self, cause: LossCause) -> [Label; 3] {
        let [site, kind] = self.pairs();
        [site, kind, (CAUSE, cause.word())]
    }

    pub(crate) fn ended(self, outcome: &'static str, via: &'static str) -> [Label; 4] {
        let [site, kind] = self.pairs();
        [site, kind, (OUTCOME, outcome), (VIA, via)]
    }
}

/// The outcome of a failed call. `waits` tells whether it could wait.
pub(crate) fn outcome(error: &LockError, waits: bool) -> &'static str {
    match error {
        LockError::Busy { .. } => "shed",
        error if error.is_timeout() && waits => "timeout",
        error if error.is_timeout() => "busy",
        LockError::Unavailable { .. } | LockError::NotReplicated { .. } => "unavailable",
        LockError::Lost { .. } => "lost",
        _ => "refused",
    }
}

pub(crate) fn operation(op: &Op) -> [Label; 1] {
    let word = match op {
        Op::Acquire { .. } => "acquire",
        Op::Touch { .. } => "touch",
        Op::Release { .. } => "release",
        Op::Adopt { .. } => "adopt",
        Op::Force => "force",
        Op::Raise { .. } => "raise",
        Op::Signal { .. } => "signal",
        Op::Delete => "delete",
        Op::Kick { .. } => "kick",
        Op::Probe { .. } => "probe",
        Op::Inspect { .. } => "inspect",
    };
    [(OPERATION, word)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_outcome_that_tells_what_to_look_at() {
        let timeout = LockError::timeout("");
        assert_eq!(outcome(&timeout, true), "timeout");
        assert_eq!(outcome(&timeout, false), "busy");
        for (error, expected) in [
            (LockError::too_many_attempts(""), "timeout"),
            (LockError::unavailable(""), "unavailable"),
            // Clients drain and refuse calls in every rollout, so this outcome should not raise an alarm.
            (LockError::ShutDown, "refused"),
            (LockError::lost("", LossCause::Expired), "lost"),
            (LockError::foreign_key(""), "refused"),
            (LockError::deadlock(""), "refused"),
        ] {
            assert_eq!(outcome(&error, true), expected, "{error:?}");
        }
    }

    /// The table of [`Metric`](crate::Metric) has every value of every label.
    #[cfg(repository)]
    #[test]
    fn all_values_are_documented() {
        let table = include_str!("../../../stores/seam/src/observer/metric.rs");
        let outcomes = [
            "acquired",
            "timeout",
            "busy",
            "unavailable",
            "lost",
            "cancelled",
            "refused",
        ];
        let words = outcomes
            .into_iter()
            .chain(HoldKind::ALL.map(HoldKind::word));
        let words = words.chain(LossCause::ALL.map(LossCause::word));
        for word in words.chain(["kept", "local", "store", BY_HAND]) {
            assert!(table.contains(&format!("`{word}`")), "{word}");
        }
    }
}
