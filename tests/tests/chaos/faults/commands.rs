//! Commands that an operator may send to a server, on purpose or by mistake.

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::{Needs, Stay};

/// `CLIENT KILL` of all clients, once or several times.
pub(super) struct ClientKill;

impl Fault for ClientKill {
    fn name(&self) -> &'static str {
        "CLIENT KILL"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        for _ in 0..=field.seed.below(3) {
            field.redis().kill_clients();
            field.pass(0, 20);
        }
        Struck::now(field)
    }
}

/// `CLIENT PAUSE`, for longer than a lease.
pub(super) struct ClientPause {
    pub(super) all: bool,
}

impl Fault for ClientPause {
    fn name(&self) -> &'static str {
        match self.all {
            true => "CLIENT PAUSE ALL",
            false => "CLIENT PAUSE WRITE",
        }
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            stay: Stay::BeyondLease,
            ..Needs::default()
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let mode = if self.all { "ALL" } else { "WRITE" };
        let millis = 1200 + field.seed.below(600);
        let pause = ["CLIENT", "PAUSE", &millis.to_string(), mode];
        field.redis().command(&pause);
        field.pass(millis, 1);
        Struck::now(field)
    }
}

/// `SCRIPT FLUSH`, once or several times.
pub(super) struct ScriptFlush;

impl Fault for ScriptFlush {
    fn name(&self) -> &'static str {
        "SCRIPT FLUSH"
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        for _ in 0..=field.seed.below(3) {
            field.redis().command(&["SCRIPT", "FLUSH"]);
            field.pass(0, 20);
        }
        Struck::now(field)
    }
}

/// All data is deleted while the server is running.
pub(super) struct FlushAll;

impl Fault for FlushAll {
    fn name(&self) -> &'static str {
        "FLUSHALL"
    }

    fn is_fenced_only(&self) -> bool {
        true
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let struck = field.now();
        field.redis().command(&["FLUSHALL"]);
        field.excuse(struck);
        Struck::now(field)
    }
}
