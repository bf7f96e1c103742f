//! The commands that a user must be allowed to call, from which `acl_rule` is made.

use std::collections::BTreeSet;

use crate::script::Scripts;

/// Commands for every connection to a server. HELLO needs no right, nor do AUTH and SETNAME within HELLO.
pub(crate) const CONNECTION: &[&str] = &[
    "del",
    "evalsha",
    "ping",
    "script|exists",
    "script|load",
    "set",
    "subscribe",
];
pub(crate) const DATABASE: &[&str] = &["select"];
pub(crate) const REPLICAS: &[&str] = &["wait"];
pub(crate) const CLUSTER: &[&str] = &["asking", "cluster|info", "cluster|myid", "cluster|slots"];
/// Commands for nodes of version 7 and above. Without them, messages go to all nodes.
pub(crate) const SHARD_CHANNELS: &[&str] = &["spublish", "ssubscribe"];
pub(crate) const OPERATOR: &[&str] = &["getrange", "pttl", "scan"];
/// Commands that write a key, or send or receive messages. Reading needs none of them.
pub(crate) const WRITING: &[&str] = &[
    "del",
    "hdel",
    "hset",
    "pexpire",
    "publish",
    "set",
    "spublish",
    "ssubscribe",
    "subscribe",
    "wait",
    "zadd",
    "zrem",
    "zremrangebyscore",
];
pub(crate) const SENTINEL: &[&str] = &["sentinel|master", "sentinel|sentinels", "subscribe"];
pub(crate) const SWITCHED: &str = "+switch-master";

/// Optional commands. Without `config|get`, which reports more about the server, a user can connect, with a warning.
pub(crate) const OPTIONAL: &[&str] = &["config|get"];

/// For servers since version 7.2. Older ones refuse ACL rules with this command.
pub(crate) const INTRODUCTION: &[&str] = &["client|setinfo"];

pub(crate) fn of_scripts() -> BTreeSet<String> {
    let scripts = Scripts::of(false);
    let all = scripts.texts().flat_map(called);
    all.filter(|command| command != "cluster").collect()
}

fn called(text: &str) -> impl Iterator<Item = String> {
    text.split("call('")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_a_cluster_call_one_more() {
        let scripts = Scripts::of(true);
        let of_cluster: BTreeSet<_> = scripts.texts().flat_map(called).collect();
        let more: Vec<_> = of_cluster.difference(&of_scripts()).cloned().collect();
        assert_eq!(more, ["cluster", "spublish"]);
        assert!(of_scripts().is_subset(&of_cluster));
        assert!(SHARD_CHANNELS.contains(&"spublish"));
    }

    #[test]
    fn what_writes_is_known() {
        let reading = of_scripts();
        let reading = reading
            .iter()
            .filter(|right| !WRITING.contains(&right.as_str()));
        let reading: Vec<_> = reading.collect();
        let known = [
            "exists", "get", "hget", "hlen", "hmget", "info", "time", "zcard", "zrange", "zrank",
            "zscore",
        ];
        assert_eq!(reading, known);
    }

    #[test]
    fn scripts_name_every_command_that_they_call() {
        for text in Scripts::of(false).texts() {
            for (at, _) in text.match_indices("call(") {
                let line = text[at..].lines().next().unwrap();
                // `pcall(run)` and `pcall(cut)` are protected calls of Lua functions, not of commands.
                assert!(
                    ["call('", "call(run)", "call(cut)"]
                        .iter()
                        .any(|known| line.starts_with(known)),
                    "{line}"
                );
            }
        }
    }
}
