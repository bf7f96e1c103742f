//! Tests of `watch`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use auto_mutex_tests::redis::Redis;
use serde_json::Value;

use super::rig::{are_waiting, client, command, document};

/// A running `auto-mutex watch` of the lock `w`, and the lines of its output.
pub(super) struct Watching {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Watching {
    pub(super) fn start(url: &str) -> Self {
        let args = ["watch", "w", "--every", "20ms", "-o", "jsonl"];
        let mut child = command(url, &args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next event.
    pub(super) fn next(&mut self) -> Value {
        let line = self.lines.next().expect("an event").expect("a line");
        serde_json::from_str(&line).expect("a document")
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_happens_to_a_lock_is_told_in_order() {
    let redis = Redis::start();
    let url = redis.url();
    let (one, other) = (client(&url), client(&url));
    let guard = one.mutex("w").blocking_lock().unwrap();
    let mut watching = Watching::start(&url);
    let granted = watching.next();
    assert_eq!(granted["event"], "granted");
    assert_eq!(granted["token"], guard.fencing_token().to_string());
    assert_eq!(granted["schema_version"], 1);
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let waiting = std::thread::spawn(move || {
        let guard = other.mutex("w").blocking_lock().unwrap();
        let token = guard.fencing_token();
        let _ = ends.recv();
        guard.blocking_unlock().unwrap();
        token
    });
    are_waiting(&url, "w", 1);
    let queued = watching.next();
    assert_eq!(
        (&queued["event"], &queued["place"]),
        (&"queued".into(), &1.into())
    );
    guard.blocking_unlock().unwrap();
    assert_eq!(watching.next()["event"], "released");
    let granted = watching.next();
    assert_eq!(granted["event"], "granted");
    drop(end);
    assert_eq!(granted["token"], waiting.join().unwrap().to_string());
    assert_eq!(watching.next()["event"], "released");
}

#[test]
fn a_pipe_that_nobody_reads_ends_it_before_the_next_event() {
    let redis = Redis::start();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command(&redis.url(), &["watch", "w"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn it_ends_after_so_many_events() {
    let redis = Redis::start();
    let url = redis.url();
    let client = client(&url);
    let _guard = client.mutex("w").blocking_lock().unwrap();
    let out = super::rig::written(&url, &["watch", "w", "--count", "1"], 0);
    assert_eq!(out.lines().count(), 1);
    assert!(out.contains("granted"), "{out}");
}

#[test]
fn a_hold_that_is_broken_or_forgotten_is_not_released() {
    let redis = Redis::start();
    let url = redis.url();
    let client = client(&url);
    let _guard = client.mutex("w").blocking_lock().unwrap();
    let mut watching = Watching::start(&url);
    let granted = watching.next();
    assert_eq!(granted["event"], "granted");
    let token = granted["token"].as_str().unwrap();
    document(&url, &["kick", "w", "--token", token, "--yes"], 0);
    assert_eq!(watching.next()["event"], "broken");
    let _guard = client.mutex("w").blocking_lock().unwrap();
    assert_eq!(watching.next()["event"], "granted");
    redis.command(&["FLUSHALL"]);
    assert_eq!(watching.next()["event"], "lost");
}
