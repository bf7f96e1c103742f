//! The server is killed and started again.

use auto_mutex_tests::redis::Options;

use super::{Fault, Struck};
use crate::needs::{Needs, Stay};

pub(crate) fn all() -> Vec<Fault> {
    vec![
        Fault::new("server restarted with its data", with_data, |field| {
            field.moment();
            field.redis().kill9();
            field.pass(0, 200);
            field.redis().start_again();
        })
        .harms_keepers(),
        guarded(),
        Fault::new(
            "server restarted without its data, no guard",
            without_data,
            |field| {
                field.moment();
                let struck = field.now();
                field.redis().kill9();
                field.pass(0, 200);
                field.excuse(struck);
                field.redis().start_again();
            },
        )
        .fenced_only(),
    ]
}

fn with_data() -> Result<Needs, String> {
    Ok(Needs {
        server: Options::default().survives_kills(),
        ..Needs::default()
    })
}

fn without_data() -> Result<Needs, String> {
    Ok(Needs {
        server: Options::default().replicated(),
        ..Needs::default()
    })
}

/// With the restart guard, the server grants nothing until the leases from before the restart have ended, and for
/// another two seconds plus the replicas' lag. A process is also cut off for longer than its lease: if it holds, the
/// new server cannot tell it that its lock is gone.
fn guarded() -> Fault {
    let needs = || {
        Ok(Needs {
            stay: Stay::BeyondLease,
            proxies: true,
            options: vec!["guarded"],
            ..without_data()?
        })
    };
    let name = "server restarted without its data, guarded";
    Fault::in_rounds(name, needs, |field, _| {
        field.moment();
        let victim = field.victim();
        field.proxies[victim].refuse();
        field.proxies[victim].cut();
        field.redis().kill9();
        field.pass(0, 200);
        field.redis().start_again();
        let struck = Struck::now(field);
        field.pass_a_lease();
        field.proxies[victim].heal();
        Some(struck)
    })
    .harms_keepers()
}
