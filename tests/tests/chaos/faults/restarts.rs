//! The server is killed and started again.

use auto_mutex_tests::redis::Options;

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::{Needs, Stay};

/// With all that it had answered.
pub(super) struct WithData;

impl Fault for WithData {
    fn name(&self) -> &'static str {
        "server restarted with its data"
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            server: Options::default().survives_kills(),
            ..Needs::default()
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        field.redis.kill9();
        field.pass(0, 200);
        field.redis.start_again();
        Struck::now(field)
    }
}

/// With nothing. With the guard nothing is granted until the leases of its last life have ended, and two seconds and the lag
/// that replicas may have; and one who is inside is cut off for longer than his lease.
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
        // Who is inside does not learn from the new server that it knows nothing.
        let victim = field.victim();
        if self.guarded {
            field.proxies[victim].refuse();
            field.proxies[victim].cut();
        }
        field.redis.kill9();
        field.pass(0, 200);
        if !self.guarded {
            field.excuse(struck);
        }
        field.redis.start_again();
        let struck = Struck::now(field);
        if self.guarded {
            field.pass_a_lease();
            field.proxies[victim].heal();
        }
        struck
    }
}
