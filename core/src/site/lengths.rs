//! [`Lengths`]: the options of a call that are durations, and how many calls may wait.

use std::time::Duration;

use auto_mutex_protocol::client::Tenure;

/// Handles and attributes both have these options. `None` is the client's setting, or the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) tenure: Tenure,
    pub(crate) block: Option<Duration>,
    pub(crate) interval: Option<Duration>,
    pub(crate) stop_within: Option<Duration>,
    pub(crate) progress: Option<Duration>,
    pub(crate) max_waiters: Option<u32>,
}

impl Lengths {
    pub(crate) fn set(&mut self, option: &str, length: Duration) {
        let field = match option {
            "block" => Some(&mut self.block),
            "interval" => Some(&mut self.interval),
            "stop_within" => Some(&mut self.stop_within),
            "progress" => Some(&mut self.progress),
            _ => self.tenure.by_name(option),
        };
        debug_assert!(field.is_some(), "no option is called {option}");
        if let Some(field) = field {
            *field = Some(length);
        }
    }
}
