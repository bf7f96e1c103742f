//! The server is killed and started again.

use auto_mutex_tests::redis::Options;

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::{Needs, Stay};

/// The server comes back with all data that it had confirmed.
pub(super) struct WithData;

impl Fault for WithData {
    fn name(&self) -> &'static str {
        "server restarted with its data"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            server: Options::default().survives_kills(),
            ..Needs::default()
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        field.redis().kill9();
        field.pass(0, 200);
        field.redis().start_again();
        Struck::now(field)
    }
}

/// The server comes back without data. With the restart guard, it grants nothing until the leases from before the
/// restart have ended, and for another two seconds plus the replicas' lag. Then a process is also cut off for longer
/// than its lease.
pub(super) struct WithoutData {
    pub(super) guarded: bool,
}

impl Fault for WithoutData {
    fn name(&self) -> &'static str {
        match self.guarded {
            true => "server restarted without its data, guarded",
            false => "server restarted without its data, no guard",
        }
    }

    fn harms_keepers(&self) -> bool {
        self.guarded
    }

    fn is_fenced_only(&self) -> bool {
        !self.guarded
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            server: Options::default().replicated(),
            stay: match self.guarded {
                true => Stay::BeyondLease,
                false => Stay::Brief,
            },
            proxies: self.guarded,
            options: self.guarded.then_some("guarded").into_iter().collect(),
            ..Needs::default()
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let struck = field.now();
        // With the restart guard, a process is cut off. If it holds, the new server cannot tell it that its lock is
        // gone.
        let victim = field.victim();
        if self.guarded {
            field.proxies[victim].refuse();
            field.proxies[victim].cut();
        }
        field.redis().kill9();
        field.pass(0, 200);
        if !self.guarded {
            field.excuse(struck);
        }
        field.redis().start_again();
        let struck = Struck::now(field);
        if self.guarded {
            field.pass_a_lease();
            field.proxies[victim].heal();
        }
        struck
    }
}
