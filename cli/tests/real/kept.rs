//! Tests of how a lock is shown that a process keeps between its calls.

use auto_mutex::operator::Operator;
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::Redis;
use serde_json::Value;

use super::rig::{client, document, output, text, written};
use super::schema::fits;
use super::serve::Page;
use super::watch::Watching;

/// Longer than any test.
const RETAIN: &str = "1h";

#[test]
fn it_is_listed_and_counts_as_held_nowhere() {
    let redis = Redis::start();
    let url = redis.url();
    let client = client(&url);
    let lock = client.mutex("w").retain(RETAIN);
    drop(lock.blocking_lock().unwrap());
    let operator = Operator::connect(url.as_str()).unwrap();
    let is_kept = || {
        let lock = operator.inspect(&["w"]).unwrap().remove(0);
        lock.unwrap().is_kept()
    };
    eventually("the store knows that the lock is kept", is_kept);
    let listed = document(&url, &["ls"], 0);
    fits("ls", &listed);
    let row = &listed["locks"][0];
    let fields = [&row["kept"], &row["holders"], &row["held_ms"]];
    assert_eq!(fields, [&true.into(), &1.into(), &Value::Null]);
    let table = written(&url, &["ls"], 0);
    assert!(table.contains("-      kept  0"), "{table}");
    let none = written(&url, &["ls", "--longer-than", "0s"], 0);
    assert_eq!(none.lines().count(), 1, "{none}");
    let shown = document(&url, &["show", "w"], 0);
    fits("show", &shown);
    assert_eq!(shown["holders"][0]["kept"], true);
    for (command, part) in [
        ("show", "kept: no call is inside, and the process gives"),
        ("why", "keeps w, and no call is inside"),
    ] {
        let text = written(&url, &[command, "w"], 0);
        assert!(text.contains(part) && !text.contains("kick"), "{text}");
    }
    // The token grows every half second.
    eventually("the token is still the same", || {
        let shown = document(&url, &["show", "w"], 0);
        let token = shown["token"].as_str().unwrap();
        let asked = output(&url, &["kick", "w", "--token", token, "--dry-run"]);
        let asked = text(&asked.stderr);
        asked.contains("w is kept by ") && asked.contains("its next call asks")
    });
    let page = Page::start(&url, &[]);
    eventually("the page has looked", || {
        let metrics = page.ask("GET /metrics").2;
        let has = |line: &str| metrics.lines().any(|other| other == line);
        has("auto_mutex_kept{kind=\"mutex\"} 1")
            && has("auto_mutex_locks{kind=\"mutex\"} 0")
            && has("auto_mutex_holders{kind=\"mutex\"} 0")
            && has("auto_mutex_longest_hold_seconds{kind=\"mutex\"} 0")
    });
    let _guard = lock.blocking_lock().unwrap();
    eventually("the store knows that a call is inside", || !is_kept());
    let shown = document(&url, &["show", "w"], 0);
    assert_eq!(shown["holders"][0]["kept"], false);
}

#[test]
fn the_events_of_calls_that_keep_it_are_told() {
    let redis = Redis::start();
    let url = redis.url();
    let (one, other) = (client(&url), client(&url));
    let lock = one.mutex("w").retain(RETAIN);
    let guard = lock.blocking_lock().unwrap();
    let mut watching = Watching::start(&url);
    let mut told = |word: &str| {
        let mut event = watching.next();
        if event["event"] == "queued" {
            // The other client still waits for the answer to the recall.
            event = watching.next();
        }
        assert_eq!(event["event"], word, "{event}");
        event
    };
    told("granted");
    drop(guard);
    fits("event", &told("kept"));
    // It enters without a request, and tells the store when its call is no longer short.
    let guard = lock.blocking_lock().unwrap();
    told("granted");
    drop(guard);
    assert!(told("kept")["held_ms"].is_u64());
    // While it is kept, its token grows, which is no event.
    let _guard = other.mutex("w").blocking_lock().unwrap();
    let released = told("released");
    fits("event", &released);
    assert!(released["held_ms"].is_null(), "{released}");
    told("granted");
}
