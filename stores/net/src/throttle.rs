//! [`Throttle`]: logs each cause of an outage only once.

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{STORE, tell, with_sources};

/// The most causes of one outage that are logged, because a server's texts may differ each time.
const MOST: usize = 8;

/// The causes of one outage.
#[derive(Debug, Default)]
pub struct Throttle {
    logged: Vec<String>,
}

impl Throttle {
    /// Logs why an attempt to connect failed, and returns that text. With `passes`, the loss of the connection was
    /// logged, and the next attempt may succeed, for example after a restart.
    pub fn failed(&mut self, error: &SetupError, passes: bool) -> String {
        let text = with_sources(error);
        let is_new = self.is_new(&text);
        let (error, is_transient) = (text.clone(), error.is_transient());
        tell(move || match (is_new, passes, is_transient) {
            (false, ..) => {
                tracing::debug!(target: STORE, error, "no connection to the lock store yet")
            }
            (true, true, _) => {
                tracing::info!(target: STORE, error, "no connection to the lock store yet")
            }
            (true, false, true) => tracing::warn!(
                target: STORE,
                error,
                "no connection to the lock store, trying again; calls that need it fail with `Unavailable`"
            ),
            (true, false, false) => tracing::error!(
                target: STORE,
                error,
                "the lock store cannot be used, trying again; calls that need it fail with `Unavailable`"
            ),
        });
        text
    }

    /// Whether this cause was not logged yet.
    pub fn is_new(&mut self, text: &str) -> bool {
        let is_new = self.logged.len() < MOST && !self.logged.iter().any(|it| it == text);
        if is_new {
            self.logged.push(text.to_owned());
        }
        is_new
    }
}
