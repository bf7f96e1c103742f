//! What a user must be allowed to call: the one list, from which the rule of `acl_rule` is made.
//!
//! What the scripts call is read from the scripts.

use std::collections::BTreeSet;

use super::scripts::Scripts;

/// On every connection to a server. (HELLO, AUTH and SETNAME within it need no right.)
pub(crate) const CONNECTION: &[&str] = &[
    "del",
    "evalsha",
    "ping",
    "script|exists",
    "script|load",
    "set",
    "subscribe",
];
/// With a database other than 0.
pub(crate) const DATABASE: &[&str] = &["select"];
/// With `Config::replicas`.
pub(crate) const REPLICAS: &[&str] = &["wait"];
/// Of the nodes of a cluster.
pub(crate) const CLUSTER: &[&str] = &["asking", "cluster|info", "cluster|myid", "cluster|slots"];
/// Of nodes of version 7 and above. Without these rights wake-ups go to all nodes.
pub(crate) const SHARD_CHANNELS: &[&str] = &["spublish", "ssubscribe"];
/// Of sentinels.
pub(crate) const SENTINEL: &[&str] = &["sentinel|master", "sentinel|sentinels", "subscribe"];
/// The channel on which sentinels tell when a service has another primary.
pub(crate) const SWITCHED: &str = "+switch-master";
/// The channels of sentinels.
pub(crate) const SENTINEL_CHANNELS: &[&str] = &[SWITCHED];

/// These tell more about the server. A user who may not call them is served too, and warned.
pub(crate) const OPTIONAL: &[&str] = &["config|get"];

/// What the scripts call, on any server.
pub(crate) fn of_scripts() -> BTreeSet<String> {
    let scripts = Scripts::of_server();
    let all = scripts.texts().flat_map(called);
    // Asked of nodes of a cluster only: see [`CLUSTER`].
    all.filter(|command| command != "cluster").collect()
}

/// The commands that a script names.
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
        let of_cluster: BTreeSet<_> = Scripts::of_cluster().texts().flat_map(called).collect();
        let more: Vec<_> = of_cluster.difference(&of_scripts()).cloned().collect();
        assert_eq!(more, ["cluster", "spublish"]);
        assert!(of_scripts().is_subset(&of_cluster));
        assert!(SHARD_CHANNELS.contains(&"spublish"));
    }

    #[test]
    fn scripts_name_every_command_that_they_call() {
        for text in Scripts::of_server().texts() {
            for (at, _) in text.match_indices("call(") {
                let line = text[at..].lines().next().unwrap();
                // The rules run in a protected call of Lua, which is none of the server's.
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
