//! What the store still keeps of those that were killed, and for how long.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use auto_mutex::Client;

use super::Plan;

/// What a slow machine adds: a request of the dead may lie in a socket until the server gets to it.
const SLOW: Duration = Duration::from_secs(1);

/// Those that were killed.
#[derive(Debug, Default)]
pub(crate) struct Dead {
    /// Of which something may be left, and when they died.
    kept: Vec<(u32, Instant)>,
    /// How many there were.
    pub(crate) kills: u64,
    /// The longest that something of one of them was still seen.
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

    /// Looks who is left of them. What they had must be gone within a lease.
    pub(super) fn look(&mut self, observer: &Client, plan: &Plan) {
        if self.kept.is_empty() {
            return;
        }
        let begun = Instant::now();
        let mut seen = BTreeSet::new();
        for name in plan.names() {
            // The server may be in trouble too: then the next look will tell.
            let Ok(info) = observer.mutex(name).blocking_info() else {
                return;
            };
            seen.extend(info.holders.iter().map(|holder| holder.pid));
            seen.extend(info.waiters.iter().map(|waiter| waiter.pid));
        }
        self.kept.retain(|(pid, _)| seen.contains(pid));
        for (pid, died) in &self.kept {
            let after = begun.saturating_duration_since(*died);
            assert!(
                after < plan.lease + SLOW,
                "{pid} has been dead for {after:?}, and not all of it is freed"
            );
            self.longest = self.longest.max(after);
        }
    }
}
