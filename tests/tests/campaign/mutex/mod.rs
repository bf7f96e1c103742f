//! Contests for one mutex.

mod calm;
mod chaos;

use std::time::Duration;

use crate::arena::Plan;

fn plan(what: &'static str, lease: u64, duration: Duration) -> Plan {
    Plan {
        what,
        kind: "mutex",
        name: "m",
        lease: Duration::from_secs(lease),
        duration,
    }
}
