//! [`hops`]: a deadlock as errors and warnings show it.

use std::time::SystemTime;

use auto_mutex_protocol::deadlock::Step;

use super::Cycle;
use crate::base::error::{DeadlockHop, Holder};
use crate::base::name::{Name, unescape};
use crate::store::meta;

pub(crate) fn hops(cycle: &Cycle) -> Vec<DeadlockHop> {
    cycle.steps.iter().map(hop).collect()
}

fn hop(step: &Step<Name>) -> DeadlockHop {
    let (hold, wait) = (&step.hold, &step.wait);
    let since = SystemTime::now().checked_sub(hold.held);
    let since = since.unwrap_or(SystemTime::UNIX_EPOCH);
    let caller = |meta: &str| meta::caller(&unescape(meta));
    let holder = caller(&hold.meta);
    DeadlockHop {
        holder: holder.map(|holder| Box::new(Holder { since, ..holder })),
        holds: step.name.to_string(),
        held: hold.held,
        waits_for: wait.name.to_string(),
        waits_at: caller(&wait.meta).map_or_else(String::new, |caller| caller.site),
        waited: wait.waited,
    }
}
