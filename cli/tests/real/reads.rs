//! Commands that only read change nothing on the server.

use auto_mutex_tests::redis::Redis;

use super::rig::{Shop, copy, document, output};

/// For each key, a digest of its value, and whether it has a time to live.
fn dump(redis: &Redis) -> Vec<String> {
    const DUMP: &str = "local all = {} \
                        for _, key in ipairs(redis.call('KEYS', '*')) do \
                            all[#all + 1] = key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) .. ' ' .. tostring(redis.call('PTTL', key) > 0) \
                        end \
                        table.sort(all) return all";
    redis.command(&["EVAL", DUMP, "0"]).texts()
}

const READS: [&[&str]; 12] = [
    &["ls", "--all"],
    &["ls", "-o", "json"],
    &["show", "orders:7"],
    &["show", "nothing"],
    &["why", "orders:7"],
    &["leaders"],
    &["tree"],
    &["watch", "orders:7", "--count", "0"],
    &["doctor"],
    &["kick", "orders:7", "--token", "1", "--yes"],
    &["kick", "pool", "--token", "1", "--dry-run"],
    &["acl"],
];

#[test]
fn no_key_is_changed_by_looking() {
    // Holders and waiters renew, which is a write, so the commands read a copy of the keys on a server without clients.
    let shop = Shop::open();
    let copy = copy(&shop.redis);
    let copied = copy.url();
    let known = dump(&copy);
    assert!(known.len() >= 3, "{known:?}");
    for args in READS {
        let output = output(&copied, args);
        assert!(
            matches!(output.status.code(), Some(0 | 3 | 4)),
            "{args:?} {output:?}"
        );
        assert_eq!(dump(&copy), known, "{args:?}");
    }
    // The commands have read real locks.
    let listed = document(&copied, &["ls", "--all"], 0);
    assert!(listed["locks"].as_array().unwrap().len() >= 3, "{listed}");
}

#[test]
fn nothing_is_written_to_a_server_that_has_nothing() {
    let redis = Redis::start();
    for args in READS {
        let output = output(&redis.url(), args);
        assert!(
            matches!(output.status.code(), Some(0 | 3 | 4)),
            "{args:?} {output:?}"
        );
        assert_eq!(dump(&redis), [""; 0], "{args:?}");
    }
}
