//! The server's clock is stepped.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_tests::clock::Clock;

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::Needs;

/// Steps the clock by a moment, by a few leases, or by longer than the server keeps an idle key. A step forward ends
/// leases before their holders expect it. Before half of the steps back, a process is killed.
pub(super) struct Step {
    pub(super) forward: bool,
}

impl Fault for Step {
    fn name(&self) -> &'static str {
        match self.forward {
            true => "server clock stepped forward",
            false => "server clock stepped back",
        }
    }

    fn is_fenced_only(&self) -> bool {
        self.forward
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            clock: Some(Arc::new(Clock::new()?)),
            ..Needs::default()
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let most = *field.seed.pick(&[500, 5_000, 4_000_000, 4_000_000]);
        let by = Duration::from_millis(1 + field.seed.below(most));
        let struck = field.now();
        // A step back must not extend the lease of a killed process.
        if !self.forward && field.seed.below(2) == 0 {
            let victim = field.victim();
            field.listen();
            field.workers.remove(victim).kill9();
        }
        let clock = field.clock.as_ref().expect("a clock of its own");
        match self.forward {
            true => clock.forward(by),
            false => clock.back(by),
        }
        if self.forward {
            field.excuse(struck);
        }
        Struck::now(field)
    }

    fn mend(&self, field: &mut Field) {
        field.fill_up();
    }
}
