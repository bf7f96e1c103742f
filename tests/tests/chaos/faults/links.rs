//! Connections that break or carry nothing, for one process or for all.

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::{Needs, Stay};
use auto_mutex_tests::proxy::Proxy;

fn proxied() -> Result<Needs, String> {
    Ok(Needs {
        proxies: true,
        stay: Stay::BeyondLease,
        ..Needs::default()
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

/// Connections are cut, and new ones are refused for a while.
pub(super) struct Cut;

impl Fault for Cut {
    fn name(&self) -> &'static str {
        "connections cut and refused"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn needs(&self) -> Result<Needs, String> {
        proxied()
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let which = some(field);
        each(field, &which, Proxy::refuse);
        each(field, &which, Proxy::cut);
        match field.seed.below(2) {
            0 => field.pass(0, 200),
            _ => field.pass_a_lease(),
        }
        each(field, &which, Proxy::heal);
        Struck::now(field)
    }
}

/// Connections are frozen for longer than a lease, and then everything arrives.
pub(super) struct Freeze;

impl Fault for Freeze {
    fn name(&self) -> &'static str {
        "connections frozen, then thawed"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn needs(&self) -> Result<Needs, String> {
        proxied()
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
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
        Struck::now(field)
    }
}

/// Connections stay open but carry nothing. This fault has no end.
pub(super) struct HalfOpen;

impl Fault for HalfOpen {
    fn name(&self) -> &'static str {
        "half-open connections"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn needs(&self) -> Result<Needs, String> {
        proxied()
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let which = some(field);
        each(field, &which, Proxy::half_open);
        Struck::now(field)
    }
}
