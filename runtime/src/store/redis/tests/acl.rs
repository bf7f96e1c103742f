//! The rights that a user needs: exactly these.

use super::server::{LONG, Server, connect, run};
use crate::error::SetupError;
use crate::store::MemberId;

/// What the scripts call.
const SCRIPTS: &[&str] = &[
    "time",
    "get",
    "info",
    "set",
    "exists",
    "del",
    "pexpire",
    "publish",
    "hget",
    "hmget",
    "hset",
    "hdel",
    "hlen",
    "zadd",
    "zcard",
    "zrange",
    "zrank",
    "zrem",
    "zremrangebyscore",
    "zscore",
];
/// What the connection calls; HELLO needs no right.
const CONNECTION: &[&str] = &["evalsha", "script|load", "subscribe", "ping"];

fn rule(commands: &[&str]) -> Vec<String> {
    let mut words: Vec<_> = ["ACL", "SETUSER", "locks", "reset", "on", ">canary"]
        .map(String::from)
        .into();
    words.extend(["~auto_mutex:*", "&auto_mutex:*"].map(String::from));
    words.extend(commands.iter().map(|command| format!("+{command}")));
    words
}

async fn attempt(server: &Server, commands: &[&str]) -> Result<(), SetupError> {
    let words = rule(commands);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    run::<()>(&mut server.connection(), &words);
    let endpoint = server.endpoint("?user=locks&pass=canary");
    connect(&endpoint, LONG, None, MemberId::random())
        .await
        .map(drop)
}

/// The commands named in the scripts' calls.
fn called() -> Vec<String> {
    let mut found = Vec::new();
    for text in super::super::scripts::Scripts::new().texts() {
        for (start, _) in text.match_indices("call('") {
            let rest = &text[start + "call('".len()..];
            let command = rest.split('\'').next().unwrap();
            found.push(command.to_lowercase());
        }
        found.extend(["hset", "hdel"].map(String::from));
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn the_list_is_what_the_scripts_call() {
    let mut listed: Vec<_> = SCRIPTS.iter().map(ToString::to_string).collect();
    listed.sort();
    assert_eq!(called(), listed);
}

#[test]
fn the_documented_rule_is_this_one() {
    let page = include_str!("../../../../../docs/operations.md");
    let (_, rest) = page.split_once("ACL SETUSER").unwrap();
    let (rule, _) = rest.split_once("```").unwrap();
    let words = rule.split_whitespace();
    let mut documented: Vec<_> = words.filter_map(|word| word.strip_prefix('+')).collect();
    documented.sort();
    let mut listed = [SCRIPTS, CONNECTION].concat();
    listed.sort();
    assert_eq!(documented, listed);
}

#[tokio::test]
async fn a_user_with_exactly_these_rights_can_lock() {
    let server = Server::start();
    let all = [SCRIPTS, CONNECTION].concat();
    attempt(&server, &all).await.unwrap();
}

#[tokio::test]
async fn a_missing_right_is_found_at_set_up() {
    let server = Server::start();
    let all = [SCRIPTS, CONNECTION].concat();
    // What keeps an idle connection alive is not probed.
    for missing in all.iter().filter(|command| **command != "ping") {
        let rest: Vec<_> = all
            .iter()
            .copied()
            .filter(|command| command != missing)
            .collect();
        let found = attempt(&server, &rest).await;
        let Err(error) = found else {
            panic!("{missing} is not missed");
        };
        assert!(
            matches!(error, SetupError::Permission { .. }),
            "{missing}: {error:?}"
        );
        let text = format!("{error} {error:?}");
        assert!(!text.contains("canary"), "{text}");
    }
}
