//! Processes that are killed or suspended.

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::Needs;

pub(crate) fn all() -> Vec<Fault> {
    let plain = || Ok(Needs::default());
    vec![
        // Mostly while it holds. Another process replaces it later.
        Fault::new("kill -9", plain, |field| {
            field.moment();
            let victim = field.victim();
            field.listen();
            field.workers.remove(victim).kill9();
        })
        .harms_keepers()
        .mend(Field::fill_up),
        // Only the recovery of the other processes is measured, from the start of the fault.
        Fault::in_rounds("SIGSTOP beyond the lease, SIGCONT", plain, |field, _| {
            field.moment();
            let victim = field.victim();
            field.workers[victim].stop();
            let mut struck = Struck::now(field);
            struck.alive.remove(victim);
            field.pass_a_lease();
            field.workers[victim].cont();
            Some(struck)
        })
        .harms_keepers(),
    ]
}
