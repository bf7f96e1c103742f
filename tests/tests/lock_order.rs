//! Warnings about locks that are taken in opposite orders: one warning in the whole cluster, before any call has hung. The
//! log is process-wide, so this is a program of its own. Each test has classes of its own.

use std::sync::Once;
use std::time::Duration;

use auto_mutex::operator::Operator;
use auto_mutex::{Client, Config};
use auto_mutex_tests::events::{LONG, eventually};
use auto_mutex_tests::log;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker::{Setup, Worker};

const TARGET: &str = "auto_mutex::order";

fn listen() {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(log::take_warnings);
}

/// The warnings that name this class.
fn warnings(class: &str) -> Vec<String> {
    let class = format!("`{class}`");
    let log = log::so_far();
    let lines = log.lines().filter(|line| line.contains(TARGET));
    lines
        .filter(|line| line.contains(&class))
        .map(str::to_owned)
        .collect()
}

fn config(url: &str) -> Config {
    let config = Config::new(url).expect("a good URL").namespace("suite");
    config
        .lease(LONG)
        .connect_timeout("60s")
        .restart_guard(false)
}

fn client(url: &str) -> Client {
    Client::connect(config(url)).expect("a client")
}

fn nest(client: &Client, outer: &'static str, inner: &'static str) {
    let [outer, inner] = [outer, inner].map(|class| client.mutex(class).metrics_label(class));
    let nested = outer.blocking_synchronize(|_| inner.blocking_synchronize(|_| ()));
    nested.expect("the outer lock").expect("the inner lock");
}

/// Waits until the store has `count` edges.
#[track_caller]
fn has_edges(url: &str, count: usize) {
    let operator = Operator::connect(url).expect("an operator");
    eventually("the store has the edges", || {
        operator.lock_order().expect("an answer").len() == count
    });
}

#[test]
fn one_client_of_several_warns_once() {
    listen();
    let redis = Redis::start();
    let url = redis.url();
    let [first, second, third] = [(); 3].map(|()| client(&url));
    nest(&first, "one:a", "one:b");
    has_edges(&url, 1);
    nest(&second, "one:b", "one:a");
    eventually("a warning", || warnings("one:a").len() == 1);
    let warned = warnings("one:a").remove(0);
    assert!(warned.contains("WARN"), "{warned}");
    assert_eq!(
        warned.matches(&format!("({}:", file!())).count(),
        4,
        "{warned}"
    );
    assert_eq!(
        warned
            .matches(&format!("(pid {} on ", std::process::id()))
            .count(),
        2,
        "{warned}"
    );
    // No second warning for this circle: neither by the same client, nor by a client that makes the circle alone.
    nest(&second, "one:b", "one:a");
    nest(&third, "one:a", "one:b");
    nest(&third, "one:b", "one:a");
    // The third client sends this edge after those of its circle, so the store has checked the circle when it has this edge.
    nest(&third, "one:c", "one:d");
    has_edges(&url, 3);
    // Another circle is another warning.
    nest(&third, "one:d", "one:c");
    eventually("another warning", || warnings("one:c").len() == 1);
    assert_eq!(warnings("one:a").len(), 1, "{}", log::so_far());
}

#[test]
fn a_client_without_another_one_warns_too() {
    listen();
    let client = client("memory://");
    nest(&client, "alone:a", "alone:b");
    nest(&client, "alone:b", "alone:c");
    assert!(warnings("alone:a").is_empty());
    nest(&client, "alone:c", "alone:a");
    eventually("a warning", || warnings("alone:b").len() == 1);
    let keys = ["1", "2"].map(|key| client.mutex(key).metrics_label("alone:key"));
    let both = keys[0].blocking_synchronize(|_| keys[1].blocking_lock().map(drop));
    both.unwrap().unwrap();
    eventually("a warning", || warnings("alone:key").len() == 1);
    let warned = warnings("alone:key").remove(0);
    assert!(
        warned.contains("take them together with `keys = [..]`"),
        "{warned}"
    );
    assert_eq!(warnings("alone:a").len(), 1);
}

#[test]
fn an_order_that_is_meant_is_not_warned_about() {
    listen();
    let allows = Client::connect(config("memory://").allow_order("meant:b", "meant:a"));
    let allows = allows.expect("a client");
    nest(&allows, "meant:a", "meant:b");
    nest(&allows, "meant:b", "meant:a");
    // The client reports these edges after the allowed ones, so this warning shows that those were checked.
    nest(&allows, "meant:c", "meant:d");
    nest(&allows, "meant:d", "meant:c");
    eventually("a warning", || warnings("meant:c").len() == 1);
    assert!(warnings("meant:a").is_empty(), "{}", log::so_far());
}

#[test]
fn a_store_that_refuses_disturbs_no_lock_and_leaves_the_warning_to_the_client() {
    listen();
    let redis = Redis::start();
    // The key has another type, so the script refuses.
    redis.command(&["SET", "auto_mutex:{:order:suite}:edges", "x"]);
    let client = client(&redis.url());
    nest(&client, "refused:a", "refused:b");
    nest(&client, "refused:b", "refused:a");
    eventually("a warning", || warnings("refused:a").len() == 1);
    assert!(client.mutex("m").blocking_lock().is_ok());
    assert_eq!(client.lock_order().len(), 2);
    assert_eq!(warnings("refused:a").len(), 1);
}

#[test]
fn two_programs_meet_through_the_store() {
    let redis = Redis::start();
    let url = redis.url();
    let start = || {
        let setup = Setup::new(
            env!("CARGO_BIN_EXE_test-worker"),
            url.clone(),
            Duration::from_secs(30),
        );
        let mut worker = setup.start();
        worker.say("warnings");
        worker.expect("ok");
        worker
    };
    let nest = |worker: &mut Worker, outer: &str, inner: &str| {
        worker.say(&format!("nest {outer} {inner}"));
        worker.expect("nested");
    };
    // Another thread writes the warning, before or after the answer.
    let warns = |worker: &mut Worker, outer: &str, inner: &str| {
        worker.say(&format!("nest {outer} {inner}"));
        let mut lines = [(); 2].map(|()| worker.hear().expect("a warning, and an answer"));
        lines.sort_by_key(|line| line == "nested");
        let [warned, nested] = lines;
        assert_eq!(nested, "nested");
        warned
    };
    let (mut first, mut second) = (start(), start());
    nest(&mut first, "a", "b");
    has_edges(&url, 1);
    let warned = warns(&mut second, "b", "a");
    assert!(
        warned.contains("WARN") && warned.contains(TARGET),
        "{warned}"
    );
    for worker in [&first, &second] {
        assert!(
            warned.contains(&format!("test-worker (pid {} on ", worker.pid())),
            "{warned}"
        );
    }
    // The first program does not warn of the known circle, even when it learns of it. It does warn of its own new circle.
    nest(&mut first, "c", "d");
    has_edges(&url, 3);
    let warned = warns(&mut first, "d", "c");
    assert!(
        warned.contains("`c`") && !warned.contains("`a`"),
        "{warned}"
    );
    // All edges of both circles are marked for the operator.
    let operator = Operator::connect(url.as_str()).expect("an operator");
    let edges = operator.lock_order().expect("an answer");
    assert!(
        edges.len() == 4 && edges.iter().all(|edge| edge.inverted),
        "{edges:?}"
    );
    assert_eq!(edges[0].namespace.as_deref(), Some("suite"));
}
