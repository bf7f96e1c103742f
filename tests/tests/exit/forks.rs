//! The children of a process that forks: they set the library up for themselves, and signals end them.

use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker;

#[track_caller]
fn forks(what: &str, lines: &[&str]) {
    let redis = Redis::start();
    let said = worker::forks(env!("CARGO_BIN_EXE_test-fork"), &redis.url(), what);
    assert_eq!(said, lines);
}

#[test]
fn a_child_sets_up_for_itself() {
    let mut lines = vec!["before not set up", "set up allowed", "parent allowed"];
    lines.push("child forked");
    lines.extend(["set up allowed"; 10]);
    lines.extend(["child inside busy", "child other allowed"]);
    lines.extend(["child order []", "parent allowed"]);
    forks("setup", &lines);
}

#[test]
fn a_signal_ends_a_child_whether_or_not_it_has_asked_for_a_release() {
    let lines = [
        "children died",
        "inner is free",
        "outer died of Some(15)",
        "outer is free",
    ];
    forks("signals", &lines);
}

#[test]
fn a_child_does_not_enter_what_its_parent_keeps() {
    let lines = [
        "parent keeps true",
        "child call forked",
        "child handle forked",
        "parent keeps true",
        "child token true",
        "parent token true",
    ];
    forks("keeping", &lines);
}
