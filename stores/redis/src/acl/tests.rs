//! The additional rights that each kind of store needs.

use super::*;

fn rule(url: &str) -> AclRule {
    acl_rule(url).unwrap()
}

fn has(rule: &AclRule, command: &str) -> bool {
    rule.commands().any(|found| found == command)
}

#[test]
fn a_rule_has_what_its_store_needs_and_no_more() {
    let plain = rule("redis://h");
    for (url, more) in [
        ("redis://h/1", &["select"][..]),
        ("unix:///r?db=2", &["select"]),
        ("redlock://a,b,c", &[]),
        ("rediss://user:canary@h", &[]),
        (
            "redis-cluster://a,b",
            &[
                "asking",
                "cluster|info",
                "cluster|myid",
                "cluster|slots",
                "spublish",
                "ssubscribe",
            ],
        ),
        ("redis-sentinel://a/s", &[]),
    ] {
        let found = rule(url);
        let added: Vec<_> = found.commands().filter(|name| !has(&plain, name)).collect();
        assert_eq!(added, more, "{url}");
        assert!(plain.commands().all(|name| has(&found, name)), "{url}");
        assert!(!format!("{found} {found:?}").contains("canary"));
    }
    let replicas = acl_rule(Config::new("redis://h").unwrap().replicas(1, "1s")).unwrap();
    assert!(has(&replicas, "wait") && !has(&plain, "wait"));
}

#[test]
fn sentinels_have_a_rule_of_their_own() {
    assert_eq!(rule("redis://h").sentinels(), None);
    let found = rule("redis-sentinel://a/s");
    let words = found.sentinels().unwrap();
    assert!(words.contains("+sentinel|master"), "{words}");
    assert!(!words.contains("evalsha"), "{words}");
}

#[test]
fn what_is_optional_can_be_left_out() {
    let (whole, least) = (rule("redis://h"), rule("redis://h").without_optional());
    assert!(has(&whole, "config|get") && !has(&least, "config|get"));
    assert!(has(&least, "evalsha"));
    let least = rule("redis-cluster://h").without_optional();
    assert!(has(&least, "asking") && !has(&least, "spublish"));
}

#[test]
fn setinfo_is_in_the_rule_where_it_is_asked_for() {
    let whole = rule("redis://h");
    assert!(!has(&whole, "client|setinfo"));
    assert!(has(&whole.clone().with_setinfo(), "client|setinfo"));
    assert_eq!(
        whole.with_setinfo().without_optional(),
        rule("redis://h").without_optional()
    );
}

#[test]
fn an_operator_needs_two_commands_more() {
    let whole = rule("redis://h");
    let operator = whole.clone().operator();
    let added: Vec<_> = operator.commands().filter(|it| !has(&whole, it)).collect();
    assert_eq!(added, ["getrange", "pttl", "scan"]);
    let least = operator.without_optional();
    assert!(has(&least, "scan") && !has(&least, "config|get"));
}
