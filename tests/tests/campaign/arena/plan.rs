//! The plan of a contest: its kind, its names and its duration.

use std::time::Duration;

/// The plan of one contest.
pub(crate) struct Plan {
    /// The text that is printed with the seed.
    pub(crate) what: &'static str,
    /// The kind, in the format of the worker's `contest`.
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    pub(crate) lease: Duration,
    pub(crate) duration: Duration,
}

impl Plan {
    /// The names of all locks in the contest.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.kind.split_once(':') {
            Some(("multi" | "partners", names)) => {
                let names: u32 = names.parse().expect("a number");
                let name = |number| format!("{}{number}", self.name);
                (0..names).map(name).collect()
            }
            _ => vec![self.name.to_owned()],
        }
    }
}

/// How long a campaign lasts: `AUTO_MUTEX_CAMPAIGN_SECONDS`, or `default` seconds.
pub(crate) fn duration(default: u64) -> Duration {
    let seconds = std::env::var("AUTO_MUTEX_CAMPAIGN_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(default))
}
