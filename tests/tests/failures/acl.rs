//! A user with the rights of `acl_rule` has no others: every other command, key and channel is refused, in scripts too.

use std::collections::BTreeSet;

use auto_mutex::{Client, acl_rule};
use auto_mutex_tests::chain;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::resp::{Connection, Value};

use crate::rig::config;

fn server() -> Redis {
    Redis::with(Options::default().least_rights())
}

/// Returns a connection with only the rights of `acl_rule`.
fn restricted(redis: &Redis) -> Connection {
    let mut connection = redis.connect();
    connection.call(&["AUTH", "locks", "least"]);
    connection
}

#[track_caller]
fn refused(connection: &mut Connection, command: &[&str]) {
    let error = connection.try_call(command).unwrap_err().to_lowercase();
    let of_a_right = [
        "noperm",
        "no permissions",
        "can't run this command",
        "can't access",
        "can't publish",
    ];
    assert!(
        of_a_right.iter().any(|text| error.contains(text)),
        "{command:?}: {error}"
    );
}

/// Every command and subcommand of the server, with the fewest arguments that it takes.
fn all_commands(redis: &Redis) -> Vec<Vec<String>> {
    fn add(info: &Value, all: &mut Vec<Vec<String>>) {
        let fields = info.list();
        let (name, arity) = (fields[0].text().to_owned(), fields[1].int().unsigned_abs());
        let subcommands = fields.get(9).map_or(&[][..], |field| field.list());
        if subcommands.is_empty() {
            let mut words: Vec<_> = name.split('|').map(str::to_owned).collect();
            words.resize(words.len().max(arity as usize), "1".to_owned());
            all.push(words);
        }
        for subcommand in subcommands {
            add(subcommand, all);
        }
    }
    let mut all = Vec::new();
    for info in redis.command(&["COMMAND", "INFO"]).list() {
        add(info, &mut all);
    }
    all
}

#[test]
fn every_command_outside_the_rule_is_refused() {
    let redis = server();
    let mut admin = redis.connect();
    let rule = acl_rule(redis.url()).unwrap();
    let allowed: BTreeSet<_> = rule.commands().collect();
    let (mut refused, mut granted) = (0, BTreeSet::new());
    for command in all_commands(&redis) {
        let name = |words: usize| command[..words].join("|");
        // Commands before the login, or for the login, need no right.
        if ["hello", "auth", "quit", "reset"].contains(&&*command[0]) {
            continue;
        }
        let mut words = vec!["ACL".to_owned(), "DRYRUN".to_owned(), "locks".to_owned()];
        words.extend(command.iter().cloned());
        let said = admin.try_call(&words);
        let text = match &said {
            Ok(value) => value.text().to_owned(),
            Err(error) => error.clone(),
        };
        if text.contains("permissions to run") {
            refused += 1;
            assert!(!allowed.contains(&*name(1)), "{command:?}: {text}");
        } else {
            // The command is allowed; it may still fail because of its key or its arguments.
            let known = [name(1), name(2.min(command.len()))];
            let found = known.iter().find(|name| allowed.contains(name.as_str()));
            let found = found.unwrap_or_else(|| panic!("{command:?} is granted: {text}"));
            granted.insert(found.clone());
        }
    }
    assert!(refused > 200, "only {refused} commands are refused");
    let granted: BTreeSet<_> = granted.iter().map(String::as_str).collect();
    assert_eq!(granted, allowed);
}

#[test]
fn keys_and_channels_of_others_are_refused() {
    let redis = server();
    let mut connection = restricted(&redis);
    for command in [
        &["SET", "other", "1"][..],
        &["GET", "auto_mutexes:x"],
        &["DEL", "other"],
        &["HSET", "other", "f", "v"],
        &["ZADD", "other", "1", "m"],
        &["PEXPIRE", "other", "1"],
        &["PUBLISH", "other", "text"],
        &["SUBSCRIBE", "other"],
        &["SUBSCRIBE", "auto_mutex:member:x", "other"],
        &["KEYS", "*"],
        &["CONFIG", "SET", "maxmemory", "1"],
        &["EVAL", "return 1", "0"],
        &["FLUSHALL"],
    ] {
        refused(&mut connection, command);
    }
    connection.call(&["SET", "auto_mutex:x", "1"]);
    connection.call(&["PUBLISH", "auto_mutex:member:x", "text"]);
}

#[tokio::test]
async fn another_database_and_replicas_need_rights_of_their_own() {
    let redis = server();
    let wanted = format!("redis://127.0.0.1:{}/3", redis.port());
    let rule = acl_rule(config(&wanted).replicas(1, "100ms")).unwrap();
    let url = format!("{}/3", redis.url());
    assert!(Client::connect(config(&url)).is_err());
    let mut words: Vec<_> = "ACL SETUSER locks".split(' ').map(str::to_owned).collect();
    words.extend(rule.to_string().split(' ').map(str::to_owned));
    redis.connect().call(&words);
    let client = Client::connect(config(&url).replicas(1, "100ms")).unwrap();
    let error = client.mutex("m").lock().await.map(drop).unwrap_err();
    let text = chain(&error);
    assert!(text.contains("replica"), "{text}");
}
