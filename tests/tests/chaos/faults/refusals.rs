//! A server that refuses requests for longer than a lease.

use std::time::Duration;

use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::Options;

use super::{Fault, Struck};
use crate::field::Field;
use crate::needs::{Needs, Stay};

/// The number of keys that the server loads; with `DELAY`, each key takes 500 microseconds.
const KEYS: u32 = 3000;
const DELAY: &str = "key-load-delay 500";

pub(crate) fn all() -> Vec<Fault> {
    vec![
        loading(),
        on("OOM", Options::default, |field| {
            field.redis().command(&["CONFIG", "SET", "maxmemory", "1"]);
            field.pass_a_lease();
            field.redis().command(&["CONFIG", "SET", "maxmemory", "0"]);
        }),
        // The user loses all commands, all keys or all channels, or is switched off.
        on(
            "NOPERM",
            || Options::default().least_rights(),
            |field| {
                let losses = ["nocommands", "resetkeys", "resetchannels", "off"];
                let taken = *field.seed.pick(&losses);
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
            },
        ),
        // The server becomes a replica of a nonexistent primary, and then a primary again, which grants nothing for a
        // while.
        on(
            "READONLY",
            || Options::default().replicated(),
            |field| {
                field.redis().command(&["REPLICAOF", "127.0.0.1", "1"]);
                field.pass_a_lease();
                field.redis().promote();
            },
        )
        .harms_keepers(),
        // Another client's script runs for a long time.
        on("BUSY", Options::default, |field| {
            let millis = 1200 + field.seed.below(600);
            field.redis().keep_busy(Duration::from_millis(millis));
            eventually("the script is over", || {
                field.redis().try_command(&["PING"]).is_ok()
            });
        }),
    ]
}

/// Some turns last so long that their leases end during the fault.
fn long_stays(server: Options) -> Needs {
    Needs {
        server,
        ..Needs::staying(Stay::BeyondLease)
    }
}

fn on(name: &str, options: fn() -> Options, strike: fn(&mut Field)) -> Fault {
    let needs = move || Ok(long_stays(options()));
    Fault::new(name, needs, move |field| {
        field.moment();
        strike(field);
    })
}

/// The server is restarted, and reads its data for a while.
fn loading() -> Fault {
    let needs = || {
        let server = Options::default().survives_kills().line(DELAY);
        let server = server.line("loading-process-events-interval-bytes 1024");
        Ok(long_stays(server.line("auto-aof-rewrite-percentage 0")))
    };
    Fault::in_rounds("LOADING", needs, |field, round| {
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
        Some(Struck::now(field))
    })
}
