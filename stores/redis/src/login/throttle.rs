//! [`Throttle`]: how often the same fault is logged as a warning.

use std::time::Duration;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{tell, with_sources};
use tokio::time::Instant;

const AGAIN: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Throttle {
    last: Option<(Instant, String)>,
}

impl Throttle {
    pub(crate) fn failed(&mut self, error: &SetupError, warns: bool) -> String {
        let text = with_sources(error);
        let warns = warns && self.is_due(text.clone());
        let (error, is_transient) = (text.clone(), error.is_transient());
        tell(move || match (warns, is_transient) {
            (false, _) => tracing::debug!(error, "no connection to the lock store yet"),
            (true, true) => tracing::warn!(
                error,
                "no connection to the lock store, trying again; calls that need it fail with `Unavailable`"
            ),
            (true, false) => tracing::error!(
                error,
                "the lock store cannot be used, trying again; calls that need it fail with `Unavailable`"
            ),
        });
        text
    }

    pub(crate) fn is_due(&mut self, text: String) -> bool {
        let now = Instant::now();
        let known = self.last.as_ref().filter(|(_, last)| *last == text);
        let is_due = known.is_none_or(|(at, _)| *at + AGAIN <= now);
        if is_due {
            self.last = Some((now, text));
        }
        is_due
    }
}
