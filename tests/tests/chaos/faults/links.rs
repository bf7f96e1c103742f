//! Connections that break or carry nothing, for one process or for all.

use auto_mutex_tests::proxy::Proxy;

use super::Fault;
use crate::field::Field;
use crate::needs::{Needs, Stay};

pub(crate) fn all() -> Vec<Fault> {
    let fault = |name, strike: fn(&mut Field)| Fault::new(name, proxied, strike).harms_keepers();
    vec![
        fault("connections cut and refused", |field| {
            field.moment();
            let which = some(field);
            each(field, &which, Proxy::refuse);
            each(field, &which, Proxy::cut);
            match field.seed.below(2) {
                0 => field.pass(0, 200),
                _ => field.pass_a_lease(),
            }
            each(field, &which, Proxy::heal);
        }),
        // Longer than a lease; then everything arrives.
        fault("connections frozen, then thawed", |field| {
            field.moment();
            let which = some(field);
            let harm = match field.seed.below(3) {
                0 => Proxy::freeze,
                1 => Proxy::freeze_existing,
                _ => Proxy::hold_replies,
            };
            each(field, &which, harm);
            field.pass_a_lease();
            each(field, &which, Proxy::thaw);
        }),
        // They stay open but carry nothing. This fault has no end.
        fault("half-open connections", |field| {
            field.moment();
            let which = some(field);
            each(field, &which, Proxy::half_open);
        }),
    ]
}

fn proxied() -> Result<Needs, String> {
    Ok(Needs {
        proxies: true,
        ..Needs::staying(Stay::BeyondLease)
    })
}

/// One of the proxies, or all of them.
fn some(field: &mut Field) -> Vec<usize> {
    match field.seed.below(3) {
        0 => (0..field.proxies.len()).collect(),
        _ => vec![field.victim()],
    }
}

fn each(field: &Field, which: &[usize], harm: fn(&Proxy)) {
    which.iter().for_each(|&index| harm(&field.proxies[index]));
}
