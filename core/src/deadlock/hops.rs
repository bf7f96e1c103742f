//! [`hops`]: a deadlock as errors and warnings show it.

use std::time::SystemTime;

use auto_mutex_protocol::deadlock::Step;

use super::Cycle;
use crate::base::error::DeadlockHop;
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
    let mut holder = caller(&hold.meta).map(Box::new);
    if let Some(holder) = &mut holder {
        holder.since = since;
    }
    let mut hop = DeadlockHop::alone(step.name.as_str());
    hop.holder = holder;
    hop.held = hold.held;
    hop.waits_for = wait.name.to_string();
    hop.waits_at = caller(&wait.meta).map_or_else(String::new, |caller| caller.site);
    hop.waited = wait.waited;
    hop
}
