//! Tests of how seats, their leaders and standbys are shown.

use std::thread::JoinHandle;

use auto_mutex::{Client, LockError, Term};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::Redis;
use serde_json::Value;

use super::rig::{are_waiting, client, document, is_held, written};
use super::schema::fits;
use super::serve::Page;

/// Stands for the lead of `seat` until this value is dropped.
pub(super) struct Candidate(Client, Option<JoinHandle<()>>);

impl Candidate {
    fn new(url: &str, value: &str) -> Self {
        let client = client(url);
        let seat = client.leader("seat").value(value);
        let body = async |_: &Term| std::future::pending::<Result<(), LockError>>().await;
        let stands = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let _ = runtime.unwrap().block_on(seat.lead(body));
        };
        Self(client, Some(std::thread::spawn(stands)))
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        self.0.blocking_shutdown();
        if let Some(stands) = self.1.take() {
            let _ = stands.join();
        }
    }
}

/// A leader and two standbys.
pub(super) fn candidates(url: &str) -> [Candidate; 3] {
    let leader = Candidate::new(url, "10.0.0.5:9000 \x1b[2J");
    is_held(url, "seat");
    let standby = Candidate::new(url, "10.0.0.6:9000");
    are_waiting(url, "seat", 1);
    let last = Candidate::new(url, "");
    are_waiting(url, "seat", 2);
    [leader, standby, last]
}

#[test]
fn leaders_and_standbys_are_listed() {
    let redis = Redis::start();
    let url = redis.url();
    let standing = candidates(&url);
    let mut watch = standing[2].0.leader("seat").watch();
    let info = watch.blocking_changed().unwrap().expect("a leader");
    let watching = std::thread::spawn(move || watch.blocking_changed().map(drop));
    let other = standing[0].0.mutex("orders").blocking_lock().unwrap();
    eventually("somebody watches", || {
        document(&url, &["leaders"], 0)["leaders"][0]["watchers"] == 1
    });

    let listed = document(&url, &["leaders"], 0);
    fits("leaders", &listed);
    assert_eq!(listed["leaders"].as_array().unwrap().len(), 1);
    let seat = &listed["leaders"][0];
    assert_eq!(seat["leader"]["term"], info.term.to_string());
    assert_eq!(seat["leader"]["value"], info.value);
    assert_eq!(seat["leader"]["pid"], std::process::id());
    let values = seat["standbys"].as_array().unwrap().iter();
    let values: Vec<_> = values.map(|standby| &standby["value"]).collect();
    assert_eq!(values, ["10.0.0.6:9000", ""]);
    let line = written(&url, &["leaders", "s*", "-ojsonl"], 0);
    fits("leaders_line", &serde_json::from_str(&line).unwrap());
    let none = document(&url, &["leaders", "other*"], 0);
    assert!(none["leaders"].as_array().unwrap().is_empty());
    let table = written(&url, &["leaders"], 0);
    let words: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().collect();
    let (pid, term) = (format!(":{}", std::process::id()), info.term.to_string());
    assert!(words[0] == "seat" && words[1].ends_with(&pid), "{table}");
    assert_eq!(words[2..5], ["10.0.0.5:9000", "\\u{1b}[2J", &term]);
    assert_eq!(words[6..], ["2", "1"], "{table}");

    // Other commands know a seat from other locks.
    let listed = document(&url, &["ls", "--all"], 0);
    fits("ls", &listed);
    let names = listed["locks"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|lock| [&lock["name"], &lock["kind"]]).collect();
    assert_eq!(names, [["orders", "mutex"], ["seat", "leader"]]);
    let long = document(&url, &["ls", "--longer-than", "0"], 0);
    assert_eq!(long["locks"].as_array().unwrap().len(), 1, "{long}");
    let shown = document(&url, &["show", "seat"], 0);
    fits("show", &shown);
    assert_eq!(shown["holders"][0]["value"], info.value);
    let shown = written(&url, &["show", "seat"], 0);
    let depose = format!("to depose the leader:  auto-mutex kick 'seat' --token {term}");
    for part in [
        "watched by 1",
        "\nleader\n",
        "\nstandbys\n",
        "VALUE",
        &depose,
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let found = document(&url, &["doctor", "--longest-wait", "0"], 3);
    let mut findings = found["findings"].as_array().unwrap().iter();
    assert!(
        !findings.any(|finding| finding["id"] == "old-waiter"),
        "{found}"
    );
    let tree = written(&url, &["tree"], 0);
    for part in [
        "└─ seat (leader), led ",
        ", 2 standing by\n",
        "  stands by ",
    ] {
        assert!(tree.contains(part), "{part}: {tree}");
    }
    fits("tree", &document(&url, &["tree"], 0));
    let waiting = document(&url, &["ls", "--waiting"], 0);
    assert!(waiting["locks"].as_array().unwrap().is_empty(), "{waiting}");
    let why = written(&url, &["why", "seat"], 0);
    for part in [" leads seat for ", " stands by to lead seat for "] {
        assert!(why.contains(part), "{part}: {why}");
    }
    drop((other, standing));
    let _ = watching.join();
}

#[test]
fn the_page_has_the_seats() {
    let redis = Redis::start();
    let url = redis.url();
    let _standing = candidates(&url);
    let page = Page::start(&url, &[]);
    eventually("the page has looked", || {
        let (status, _, leaders) = page.ask("GET /api/leaders");
        let leaders: Value = serde_json::from_str(&leaders).unwrap();
        fits("leaders", &leaders);
        let seat = &leaders["leaders"][0];
        status == 200
            && seat["standbys"]
                .as_array()
                .is_some_and(|all| all.len() == 2)
    });
    let found: Value = serde_json::from_str(&page.ask("GET /search/seat").2).unwrap();
    let value = found["locks"][0]["value"].as_str().unwrap();
    assert!(value.starts_with("10.0.0.5:9000"), "{found}");
    let metrics = page.ask("GET /metrics").2;
    for line in [
        r#"auto_mutex_seat_led{seat="seat"} 1"#,
        r#"auto_mutex_seat_standbys{seat="seat"} 2"#,
        r#"auto_mutex_waiters{kind="leader"} 2"#,
        r#"auto_mutex_oldest_wait_seconds{kind="leader"} 0"#,
    ] {
        assert!(metrics.lines().any(|other| other == line), "{metrics}");
    }
}

#[test]
fn a_kick_deposes_a_leader() {
    let redis = Redis::start();
    let url = redis.url();
    let _standing = candidates(&url);
    let leaders = || document(&url, &["leaders"], 0)["leaders"][0].take();
    let term = leaders()["leader"]["term"].as_str().unwrap().to_owned();
    written(&url, &["kick", "seat", "--token", &term, "--yes"], 0);
    eventually("it stands again", || {
        let seat = leaders();
        let standbys = seat["standbys"].as_array().unwrap();
        let values: Vec<_> = standbys.iter().map(|standby| &standby["value"]).collect();
        seat["leader"]["value"] == "10.0.0.6:9000" && values == ["", "10.0.0.5:9000 \x1b[2J"]
    });
}
