//! When whoever watches a seat looks who leads: when a signal has come, and when a leader that sent none may be dead.

use core::time::Duration;

use crate::{Instant, Limits};

/// When to look again. `left` is the longest lease of a holder that the last look has found, and `told` whether a
/// signal led to it: it can overtake the release that it reports.
pub fn looks_at(left: Option<Duration>, told: bool, now: Instant, limits: &Limits) -> Instant {
    let dead = left.map_or(Instant::NEVER, |left| now.surely_after(left));
    match told {
        true => dead.min(now.after(limits.look_who_leads)),
        false => dead,
    }
}
