//! Checks how long the store keeps the holders and waiters of killed processes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use auto_mutex::Client;

use super::NAME;

/// The processes that were killed.
#[derive(Debug, Default)]
pub(crate) struct Dead {
    /// Killed processes of which the store may still have a holder or waiter, and when they were killed.
    kept: Vec<(u32, Instant)>,
    /// The number of killed processes.
    pub(crate) kills: u64,
    /// The longest time for which the store kept a holder or a waiter of a killed process.
    pub(crate) longest: Duration,
}

impl Dead {
    pub(super) fn killed(&mut self, pid: u32) {
        self.kills += 1;
        self.kept.push((pid, Instant::now()));
    }

    pub(super) fn all_freed(&self) -> bool {
        self.kept.is_empty()
    }

    /// Looks for holders and waiters of killed processes that are left.
    pub(super) fn look(&mut self, observer: &Client) {
        if self.kept.is_empty() {
            return;
        }
        let begun = Instant::now();
        // The request fails if the server is down, too. Then the next call checks again.
        let Ok(info) = observer.mutex(NAME).blocking_info() else {
            return;
        };
        let holders = info.holders.iter().map(|holder| holder.pid);
        let waiters = info.waiters.iter().map(|waiter| waiter.pid);
        let seen: BTreeSet<_> = holders.chain(waiters).collect();
        self.kept.retain(|(pid, _)| seen.contains(pid));
        for (_, died) in &self.kept {
            self.longest = self.longest.max(begun.saturating_duration_since(*died));
        }
    }
}
