//! The labels of the metrics. All values are constants of the program, so each label has few values.

use crate::error::{HoldKind, LockError, LossCause};
use crate::site::Site;
use crate::store::{Op, Share};

pub(super) const SITE: &str = "lock.site";
pub(super) const KIND: &str = "lock.kind";
pub(super) const OUTCOME: &str = "outcome";
pub(super) const VIA: &str = "via";
pub(super) const CAUSE: &str = "cause";
pub(super) const OPERATION: &str = "operation";

/// The site label of handles without a `metrics_label`.
pub(crate) const BY_HAND: &str = "by_hand";

type Label = (&'static str, &'static str);

/// The labels of a call or a hold: its site and its kind, never the name of the lock.
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

    pub(super) fn of_site(site: &'static Site) -> Self {
        Self::new(site.label(), site.hold_kind())
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

    pub(crate) fn ended(self, outcome: Outcome, via: Via) -> [Label; 4] {
        let [site, kind] = self.pairs();
        [site, kind, (OUTCOME, outcome.word()), (VIA, via.word())]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Acquired,
    Timeout,
    Busy,
    Unavailable,
    Lost,
    Cancelled,
    Refused,
}

impl Outcome {
    /// The outcome of a call that ended with `error`. `waits`: the call could wait.
    pub(crate) fn of(error: &LockError, waits: bool) -> Self {
        match error {
            error if error.is_timeout() && waits => Self::Timeout,
            error if error.is_timeout() => Self::Busy,
            LockError::Unavailable { .. } | LockError::NotReplicated { .. } => Self::Unavailable,
            LockError::Lost { .. } => Self::Lost,
            _ => Self::Refused,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Timeout => "timeout",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
        }
    }
}

/// Whether a grant needed a request to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Local,
    Store,
}

impl Via {
    fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Store => "store",
        }
    }
}

pub(crate) fn operation(op: &Op) -> [Label; 1] {
    let word = match op {
        Op::Acquire { .. } => "acquire",
        Op::Touch { .. } => "touch",
        Op::Release { .. } => "release",
        Op::Adopt { .. } => "adopt",
        Op::Force { .. } => "force",
        Op::Refresh { .. } => "refresh",
        Op::Raise { .. } => "raise",
        Op::Signal { .. } => "signal",
        Op::Delete => "delete",
        Op::Kick { .. } => "kick",
        Op::Probe { .. } => "probe",
        Op::Inspect => "inspect",
    };
    [(OPERATION, word)]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::StoreError;

    #[test]
    fn an_error_has_the_outcome_that_tells_what_to_look_at() {
        let name = String::new;
        let timeout = || LockError::Timeout {
            name: name(),
            waited: Duration::ZERO,
            holder: None,
        };
        assert_eq!(Outcome::of(&timeout(), true), Outcome::Timeout);
        assert_eq!(Outcome::of(&timeout(), false), Outcome::Busy);
        for (error, outcome) in [
            (
                LockError::TooManyAttempts {
                    name: name(),
                    attempts: 2,
                    holder: None,
                },
                Outcome::Timeout,
            ),
            (
                LockError::Unavailable {
                    name: name(),
                    server: name(),
                    source: StoreError::disconnected("away"),
                },
                Outcome::Unavailable,
            ),
            // In every rollout, clients drain and refuse calls. So this outcome is no reason for an alarm.
            (LockError::ShutDown, Outcome::Refused),
            (
                LockError::Lost {
                    name: name(),
                    held: Duration::ZERO,
                    cause: LossCause::Expired,
                },
                Outcome::Lost,
            ),
            (LockError::ForeignKey { name: name() }, Outcome::Refused),
            (LockError::Deadlock { cycle: vec![] }, Outcome::Refused),
        ] {
            assert_eq!(Outcome::of(&error, true), outcome, "{error:?}");
        }
    }

    /// The table of [`Metric`](crate::Metric) has every value of every label.
    #[test]
    fn all_values_are_documented() {
        let table = include_str!("metric.rs");
        let outcomes = [
            Outcome::Acquired,
            Outcome::Timeout,
            Outcome::Busy,
            Outcome::Unavailable,
            Outcome::Lost,
            Outcome::Cancelled,
            Outcome::Refused,
        ];
        let kinds = [
            HoldKind::Mutex,
            HoldKind::Permit,
            HoldKind::Reader,
            HoldKind::Writer,
        ];
        let words = outcomes.map(Outcome::word).into_iter();
        let words = words.chain(kinds.map(HoldKind::word));
        let words = words.chain(LossCause::ALL.map(LossCause::word));
        for word in words.chain(["local", "store", BY_HAND]) {
            assert!(table.contains(&format!("`{word}`")), "{word}");
        }
    }
}
