//! Processes that are killed or suspended.

use super::{Fault, Struck};
use crate::field::Field;

/// A process is killed, mostly while it holds. Another process replaces it later.
pub(super) struct Kill;

impl Fault for Kill {
    fn name(&self) -> &'static str {
        "kill -9"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let victim = field.victim();
        field.listen();
        field.workers.remove(victim).kill9();
        Struck::now(field)
    }

    fn mend(&self, field: &mut Field) {
        field.fill_up();
    }
}

/// A process is suspended for longer than its lease. Only the recovery of the other processes is measured, from the start of
/// the fault.
pub(super) struct Suspend;

impl Fault for Suspend {
    fn name(&self) -> &'static str {
        "SIGSTOP beyond the lease, SIGCONT"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let victim = field.victim();
        field.workers[victim].stop();
        let mut struck = Struck::now(field)?;
        struck.alive.remove(victim);
        field.pass_a_lease();
        field.workers[victim].cont();
        Some(struck)
    }
}
