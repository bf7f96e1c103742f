//! Tests of `acl`. A user with exactly the printed rule can run every command; without any one of the operator's
//! additional rights, `doctor` fails.

use auto_mutex_tests::redis::{Options, Redis};

use super::rig::{Shop, document, output, text, written};

#[test]
fn the_rule_is_that_of_the_library() {
    let rule = written("redis://h", &["acl"], 0);
    let library = auto_mutex::acl_rule("redis://h").unwrap();
    assert_eq!(
        rule,
        format!("ACL SETUSER locks reset on >PASSWORD {library}\n")
    );
    let rule = written("", &["acl", "redis-sentinel://h/s", "--user", "me"], 0);
    assert!(
        rule.starts_with("ACL SETUSER me") && rule.contains("+sentinel|master"),
        "{rule}"
    );
    assert_eq!(
        output("redis://h", &["acl", "--user", "a b"]).status.code(),
        Some(2)
    );
}

#[test]
fn optional_rights_are_left_out_or_added() {
    let has = |args: &[&str], right: &str| {
        let args: Vec<_> = ["acl"].iter().chain(args).copied().collect();
        let commands = document("redis://h", &args, 0)["commands"].clone();
        let commands = commands.as_array().unwrap();
        commands.iter().any(|command| command == right)
    };
    assert!(has(&[], "config|get") && !has(&["--least"], "config|get"));
    assert!(has(&["--setinfo"], "client|setinfo") && !has(&[], "client|setinfo"));
    assert!(has(&["--operator", "--least"], "scan") && !has(&[], "scan"));
}

/// One command of each kind that only reads.
const LOOKS: [&[&str]; 6] = [
    &["ls", "--all"],
    &["show", "orders:7"],
    &["why", "orders:7"],
    &["tree"],
    &["doctor", "--clock", "1h"],
    &["watch", "orders:7", "--count", "1"],
];

#[track_caller]
fn works(url: &str, args: &[&str]) {
    let output = output(url, args);
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{args:?} {output:?}"
    );
}

fn operator_rule() -> String {
    let rule = document("redis://h", &["acl", "--operator"], 0);
    rule["rule"].as_str().unwrap().to_owned()
}

#[test]
fn an_operator_with_exactly_these_rights_can_do_everything() {
    let options = Options::default().user("ops", "canary", &operator_rule());
    let shop = Shop::on(Redis::with(options));
    let token = shop.token("orders:7").to_string();
    let kick = ["kick", "orders:7", "--token", &token, "--yes"];
    let run = ["run", "cron", "--", "true"];
    for args in LOOKS.into_iter().chain([&kick[..], &run[..]]) {
        works(&shop.url, args);
    }
}

#[test]
fn who_only_looks_can_look_at_everything_and_break_nothing() {
    let rule = document("redis://h", &["acl", "--read-only"], 0);
    let rule = rule["rule"].as_str().unwrap();
    assert!(!rule.contains('&') && rule.contains("+scan"), "{rule}");
    let redis = Redis::start();
    let options = ["ACL", "SETUSER", "looks", "reset", "on", ">canary"];
    redis.command(&[&options[..], &rule.split(' ').collect::<Vec<_>>()].concat());
    let shop = Shop::on(redis);
    let url = format!("redis://looks:canary@127.0.0.1:{}", shop.redis.port());
    let token = shop.token("orders:7").to_string();
    for args in LOOKS {
        works(&url, args);
    }
    for args in [
        &["kick", "orders:7", "--token", &token, "--yes"][..],
        &["run", "cron", "--", "true"],
    ] {
        let output = output(&url, args);
        let said = text(&output.stderr);
        let is_kick = args[0] == "kick";
        let code = if is_kick { 1 } else { 69 };
        assert_eq!(output.status.code(), Some(code), "{args:?} {said}");
        assert!(said.contains("permission"), "{said}");
        assert_eq!(
            said.contains("does not let this user break holds"),
            is_kick,
            "{said}"
        );
        assert!(!said.contains("canary"), "{said}");
    }
    assert_eq!(shop.token("orders:7").to_string(), token);
    // Reading has caused no refusals.
    let refused = format!("{:?}", shop.redis.command(&["ACL", "LOG"]));
    assert_eq!(refused.matches("age-seconds").count(), 1, "{refused}");
    assert!(refused.contains("cmd=subscribe"), "{refused}");
}

#[test]
fn the_rights_of_the_operator_are_needed() {
    let redis = Redis::start();
    let more = document("redis://h", &["acl", "--operator"], 0);
    let less = document("redis://h", &["acl"], 0);
    let rights = |of: &serde_json::Value| -> Vec<String> {
        let commands = of["commands"].as_array().unwrap().iter();
        commands
            .map(|command| command.as_str().unwrap().to_owned())
            .collect()
    };
    let (more, less) = (rights(&more), rights(&less));
    let added: Vec<_> = more.iter().filter(|right| !less.contains(right)).collect();
    assert!(!added.is_empty());
    for missing in added {
        let mut words: Vec<String> = [
            "ACL",
            "SETUSER",
            "ops",
            "reset",
            "on",
            ">pass",
            "~auto_mutex:*",
            "&auto_mutex:*",
        ]
        .map(str::to_owned)
        .into();
        words.extend(
            more.iter()
                .filter(|right| *right != missing)
                .map(|right| format!("+{right}")),
        );
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        redis.command(&words);
        redis.command(&["SET", "auto_mutex:{x}", "1", "EX", "100"]);
        let url = format!("redis://ops:pass@127.0.0.1:{}", redis.port());
        let output = output(&url, &["doctor"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{missing}: {said}");
        assert!(!said.contains("pass@"), "{said}");
    }
}
