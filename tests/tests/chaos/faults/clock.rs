//! The server's clock is stepped.

use std::sync::Arc;
use std::time::Duration;

use auto_mutex_tests::clock::Clock;

use super::Fault;
use crate::field::Field;
use crate::needs::Needs;

pub(crate) fn all() -> Vec<Fault> {
    vec![
        step("server clock stepped forward", true).fenced_only(),
        step("server clock stepped back", false),
    ]
}

fn needs() -> Result<Needs, String> {
    Ok(Needs {
        clock: Some(Arc::new(Clock::new()?)),
        ..Needs::default()
    })
}

/// Steps the clock by a moment, by a few leases, or by longer than the server keeps an idle key. A step forward ends
/// leases before their holders expect it. Before half of the steps back, a process is killed.
fn step(name: &str, forward: bool) -> Fault {
    let strike = move |field: &mut Field| {
        field.moment();
        let most = *field.seed.pick(&[500, 5_000, 4_000_000, 4_000_000]);
        let by = Duration::from_millis(1 + field.seed.below(most));
        let struck = field.now();
        // A step back must not extend the lease of a killed process.
        if !forward && field.seed.below(2) == 0 {
            let victim = field.victim();
            field.listen();
            field.workers.remove(victim).kill9();
        }
        let clock = field.clock.as_ref().expect("a clock of its own");
        if forward {
            clock.forward(by);
            field.excuse(struck);
        } else {
            clock.back(by);
        }
    };
    Fault::new(name, needs, strike).mend(Field::fill_up)
}
