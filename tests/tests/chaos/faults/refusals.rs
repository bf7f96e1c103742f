//! A server that refuses requests for longer than a lease.

use std::time::Duration;

use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::Options;

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::{Needs, Stay};

/// Some turns last so long that their leases end during the fault.
fn long_stays() -> Needs {
    Needs {
        stay: Stay::BeyondLease,
        ..Needs::default()
    }
}

/// `LOADING`: the server is restarted, and reads its data for a while.
pub(super) struct Loading;

/// The number of keys that the server loads; with `DELAY`, each key takes 500 microseconds.
const KEYS: u32 = 3000;
const DELAY: &str = "key-load-delay 500";

impl Fault for Loading {
    fn name(&self) -> &'static str {
        "LOADING"
    }

    fn needs(&self) -> Result<Needs, String> {
        let server = Options::default().survives_kills().line(DELAY);
        let server = server.line("loading-process-events-interval-bytes 1024");
        Ok(Needs {
            server: server.line("auto-aof-rewrite-percentage 0"),
            ..long_stays()
        })
    }

    fn strike(&self, field: &mut Field, round: usize) -> Option<Struck> {
        let redis = field.redis();
        if round == 0 {
            let fill = format!("for i = 1, {KEYS} do redis.call('SET', 'key' .. i, 'value') end");
            redis.command(&["EVAL", &fill, "0"]);
        }
        // Without the rewrite, the file would grow, and each restart would take longer.
        redis.command(&["BGREWRITEAOF"]);
        eventually("the file is rewritten", || {
            redis.info("aof_rewrite_in_progress") == "0"
                && redis.info("aof_rewrite_scheduled") == "0"
        });
        field.moment();
        field.redis().restart();
        Struck::now(field)
    }
}

/// `OOM`: the server's memory is full.
pub(super) struct FullMemory;

impl Fault for FullMemory {
    fn name(&self) -> &'static str {
        "OOM"
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(long_stays())
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        field.redis().command(&["CONFIG", "SET", "maxmemory", "1"]);
        field.pass_a_lease();
        field.redis().command(&["CONFIG", "SET", "maxmemory", "0"]);
        Struck::now(field)
    }
}

/// `NOPERM`: the user loses all commands, all keys or all channels, or is switched off.
pub(super) struct NoPermission;

impl Fault for NoPermission {
    fn name(&self) -> &'static str {
        "NOPERM"
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            server: Options::default().least_rights(),
            ..long_stays()
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let taken = *field
            .seed
            .pick(&["nocommands", "resetkeys", "resetchannels", "off"]);
        field.redis().command(&["ACL", "SETUSER", "locks", taken]);
        if taken == "off" {
            field.redis().kill_clients();
        }
        field.pass_a_lease();
        let rule = auto_mutex::acl_rule("redis://127.0.0.1").expect("a rule");
        let rule = rule.to_string();
        let mut restore = vec!["ACL", "SETUSER", "locks", "on"];
        restore.extend(rule.split_whitespace());
        field.redis().command(&restore);
        Struck::now(field)
    }
}

/// `READONLY`: the server becomes a replica of a nonexistent primary, and then a primary again, which grants nothing
/// for a while.
pub(super) struct ReadOnly;

impl Fault for ReadOnly {
    fn name(&self) -> &'static str {
        "READONLY"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            server: Options::default().replicated(),
            ..long_stays()
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        field.redis().command(&["REPLICAOF", "127.0.0.1", "1"]);
        field.pass_a_lease();
        field.redis().promote();
        Struck::now(field)
    }
}

/// `BUSY`: another client's script runs for a long time.
pub(super) struct Busy;

impl Fault for Busy {
    fn name(&self) -> &'static str {
        "BUSY"
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(long_stays())
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let millis = 1200 + field.seed.below(600);
        field.redis().keep_busy(Duration::from_millis(millis));
        eventually("the script is over", || {
            field.redis().try_command(&["PING"]).is_ok()
        });
        Struck::now(field)
    }
}
