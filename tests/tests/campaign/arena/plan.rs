//! What a contest is about and how long it lasts.

use std::time::Duration;

/// One contest.
pub(crate) struct Plan {
    /// What is printed with the seed.
    pub(crate) what: &'static str,
    /// See the worker's `contest`.
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    pub(crate) lease: Duration,
    pub(crate) duration: Duration,
}

impl Plan {
    /// All the names of locks in it.
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

/// How long a campaign lasts: `default` seconds, or what `AUTO_MUTEX_CAMPAIGN_SECONDS` says.
pub(crate) fn duration(default: u64) -> Duration {
    let seconds = std::env::var("AUTO_MUTEX_CAMPAIGN_SECONDS");
    let seconds = seconds.ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(default))
}
