//! Commands that an operator may send to a server, on purpose or by mistake.

use super::Fault;
use crate::field::Field;
use crate::needs::{Needs, Stay};

pub(crate) fn all() -> Vec<Fault> {
    let plain = || Ok(Needs::default());
    vec![
        Fault::new("CLIENT KILL", plain, |field| {
            field.moment();
            for _ in 0..=field.seed.below(3) {
                field.redis().kill_clients();
                field.pass(0, 20);
            }
        })
        .harms_keepers(),
        pause("CLIENT PAUSE WRITE", "WRITE"),
        pause("CLIENT PAUSE ALL", "ALL"),
        Fault::new("SCRIPT FLUSH", plain, |field| {
            field.moment();
            for _ in 0..=field.seed.below(3) {
                field.redis().command(&["SCRIPT", "FLUSH"]);
                field.pass(0, 20);
            }
        }),
        Fault::new("FLUSHALL", plain, |field| {
            field.moment();
            let struck = field.now();
            field.redis().command(&["FLUSHALL"]);
            field.excuse(struck);
        })
        .fenced_only(),
    ]
}

/// The pause is longer than a lease.
fn pause(name: &str, mode: &'static str) -> Fault {
    let strike = move |field: &mut Field| {
        field.moment();
        let millis = 1200 + field.seed.below(600);
        let pause = ["CLIENT", "PAUSE", &millis.to_string(), mode];
        field.redis().command(&pause);
        field.pass(millis, 1);
    };
    Fault::new(name, || Ok(Needs::staying(Stay::BeyondLease)), strike)
}
