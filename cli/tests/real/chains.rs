//! Tests of `tree` and `why`, with real processes waiting for each other.

use std::path::Path;
use std::sync::Arc;
use std::sync::Barrier;

use auto_mutex_tests::redis::Redis;
use serde_json::Value;

use super::rig::{Other, are_waiting, client, document, output, text, written};

/// For each hop, its lock and the process ids of its holder and waiter.
fn hops(chain: &Value) -> Vec<(String, u64, u64)> {
    let hops = chain["hops"].as_array().unwrap().iter();
    hops.map(|hop| {
        let pid = |who: &str| hop[who]["pid"].as_u64().unwrap_or(0);
        (
            hop["name"].as_str().unwrap().to_owned(),
            pid("holder"),
            pid("waiter"),
        )
    })
    .collect()
}

#[test]
fn a_chain_is_followed_to_its_root() {
    let redis = Redis::start();
    let url = redis.url();
    let root = Other::start(&url, "a");
    let mut middle = Other::start(&url, "b");
    middle.wants("a");
    are_waiting(&url, "a", 1);
    let mut last = Other::start(&url, "c");
    last.wants("b");
    are_waiting(&url, "b", 1);
    let [first, second, third] = [&root, &middle, &last].map(|other| u64::from(other.pid()));
    let expected = [
        ("a".to_owned(), first, second),
        ("b".to_owned(), second, third),
    ];
    let tree = document(&url, &["tree"], 0);
    assert_eq!(tree["chains"].as_array().unwrap().len(), 1);
    assert_eq!(tree["chains"][0]["cycle"], false);
    assert_eq!(hops(&tree["chains"][0]), expected);
    let drawn = written(&url, &["tree"], 0);
    let lines: Vec<_> = drawn.lines().collect();
    assert!(lines[0].contains(&root.pid().to_string()), "{drawn}");
    assert!(lines[1].starts_with("└─ a (mutex), held"), "{drawn}");
    // The subject is a lock, then a process.
    let host = tree["chains"][0]["hops"][0]["holder"]["host"]
        .as_str()
        .unwrap();
    for subject in ["b".to_owned(), format!("{host}:{}", last.pid())] {
        let why = document(&url, &["why", &subject], 0);
        assert_eq!(hops(&why["chains"][0]), expected, "{subject}");
    }
    let said = written(&url, &["why", "b"], 0);
    let lines: Vec<_> = said.lines().collect();
    assert!(
        lines[0].contains("holds a for") && lines[0].contains("waits for no lock"),
        "{said}"
    );
    assert!(
        lines[1].contains("waits for a for") && lines[1].contains("and holds b"),
        "{said}"
    );
    assert!(lines[2].contains("waits for b for"), "{said}");
    // `c` is the lock of the last process, and has no waiter.
    let said = written(&url, &["why", "c"], 0);
    assert!(said.contains("\nNobody waits for c.\n"), "{said}");
    assert!(written(&url, &["why", "free"], 0).starts_with("Nobody holds free."));
}

#[test]
fn a_process_is_found_by_its_pod() {
    let redis = Redis::start();
    let url = redis.url();
    let root = Other::in_pod(&url, "a", "web-x2x8q");
    let mut waiter = Other::in_pod(&url, "b", "web-k7v5d");
    waiter.wants("a");
    are_waiting(&url, "a", 1);
    let shown = document(&url, &["show", "a"], 0);
    assert_eq!(shown["holders"][0]["pod"], "web-x2x8q");
    assert_eq!(shown["waiters"][0]["pod"], "web-k7v5d");
    let [first, second] = [("web-x2x8q", &root), ("web-k7v5d", &waiter)]
        .map(|(pod, other)| format!("{pod}:{}", other.pid()));
    let table = written(&url, &["show", "a"], 0);
    assert!(table.contains(&format!("{first} on ")), "{table}");
    let said = written(&url, &["why", &second], 0);
    assert!(said.starts_with(&format!("{first} holds a for")), "{said}");
    let said = written(&url, &["why", "web-none:1"], 0);
    let lines: Vec<_> = said.lines().collect();
    // The store knows nothing of other waits.
    assert_eq!(lines[0], "web-none:1 waits for no lock.");
    assert!(lines[1].starts_with("(Not visible here: "), "{said}");
}

#[test]
fn a_cycle_is_a_finding() {
    let redis = Redis::start();
    let url = redis.url();
    let [mut one, mut other] = ["a", "b"].map(|name| Other::start(&url, name));
    one.wants("b");
    other.wants("a");
    are_waiting(&url, "a", 1);
    are_waiting(&url, "b", 1);
    let tree = document(&url, &["tree"], 3);
    assert_eq!(tree["chains"].as_array().unwrap().len(), 1, "{tree}");
    assert_eq!(tree["chains"][0]["cycle"], true);
    let mut names: Vec<_> = hops(&tree["chains"][0])
        .into_iter()
        .map(|hop| hop.0)
        .collect();
    names.sort();
    assert_eq!(names, ["a", "b"]);
    assert!(written(&url, &["tree"], 3).starts_with("CYCLE"));
    assert!(!written(&url, &["tree"], 3).contains("by some task"));
    for subject in ["a", "b"] {
        assert_eq!(
            document(&url, &["why", subject], 3)["chains"][0]["cycle"],
            true
        );
        assert!(written(&url, &["why", subject], 3).starts_with("CYCLE"));
    }
    let found = document(&url, &["doctor"], 3);
    let findings = found["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|finding| finding["id"] == "cycle"),
        "{found}"
    );
}

#[test]
fn the_guide_shows_what_is_drawn() {
    let redis = Redis::start();
    let url = redis.url();
    let mut one = Other::start(&url, "stock:3");
    let mut other = Other::start(&url, "orders:7");
    other.wants("stock:3");
    are_waiting(&url, "stock:3", 1);
    one.wants("orders:7");
    are_waiting(&url, "orders:7", 1);
    let mut tree = written(&url, &["tree"], 3);
    // A cycle may begin anywhere.
    let begins = |other: &Other| {
        tree.lines()
            .nth(1)
            .unwrap()
            .contains(&other.pid().to_string())
    };
    let [first, second] = if begins(&other) {
        [&other, &one]
    } else {
        tree = tree
            .replace("stock:3", "?")
            .replace("orders:7", "stock:3")
            .replace('?', "orders:7");
        [&one, &other]
    };
    // Uses the processes, places and times of an imaginary shop.
    let places = [
        (
            second,
            "web-1:4711",
            "shop::Stock::count at src/stock.rs:17",
        ),
        (first, "web-2:812", "shop::Orders::pay at src/orders.rs:40"),
    ];
    let lines = tree.lines().map(|line| {
        let is_of = |other: &&Other| line.contains(&format!(":{} ", other.pid()));
        let Some((_, who, site)) = places.iter().find(|(other, ..)| is_of(other)) else {
            return match line.split_once(", held ") {
                Some((lock, _)) => format!("{lock}, held 3s, 1 waiting"),
                None => line.to_owned(),
            };
        };
        match line.split_once(". ") {
            Some((place, _)) => format!("{place}. {who}  waits 1s  {site}"),
            None => format!("{who}  {site}"),
        }
    });
    let drawn: String = lines.map(|line| line + "\n").collect();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/guide/operator.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    assert!(guide.contains(&drawn), "{drawn}");
}

/// Only the processes are known, so this is no finding, and nobody is told to break a hold.
#[test]
fn guards_by_hand_give_a_possible_cycle() {
    let redis = Redis::start();
    let url = redis.url();
    let [mut one, mut other] = ["a", "b"].map(|name| Other::by_hand(&url, name));
    one.wants("b");
    other.wants("a");
    are_waiting(&url, "a", 1);
    are_waiting(&url, "b", 1);
    let tree = document(&url, &["tree"], 0);
    let chains = tree["chains"].as_array().unwrap();
    assert!(chains.iter().all(|chain| chain["cycle"] == false), "{tree}");
    assert_eq!(chains[0]["possible"], true, "{tree}");
    assert!(written(&url, &["tree"], 0).starts_with("Possible cycle"));
    let said = written(&url, &["why", "a"], 0);
    assert!(said.starts_with("Possible cycle"), "{said}");
    assert!(said.contains("(perhaps in another task)"), "{said}");
    assert!(!said.contains("waits for no lock"), "{said}");
    // Each lock once.
    assert_eq!(chains.len(), 1, "{tree}");
    drop((one, other));
    let mut one = Other::by_hand(&url, "c");
    one.wants("c");
    are_waiting(&url, "c", 1);
    let tree = written(&url, &["tree"], 0);
    assert_eq!(tree.matches("─ c (mutex)").count(), 1, "{tree}");
    // The server itself may have weaknesses.
    let found = text(&output(&url, &["doctor"]).stdout);
    assert!(!found.contains("cycle"), "{found}");
}

#[test]
fn two_tasks_of_one_process_can_wait_for_each_other() {
    let redis = Redis::start();
    let url = redis.url();
    let client = client(&url);
    let both = Arc::new(Barrier::new(2));
    let tasks = [["a", "b"], ["b", "a"]].map(|[first, second]| {
        let (client, both) = (client.clone(), both.clone());
        std::thread::spawn(move || {
            let take = |name| client.mutex(name).reentrant().blocking_lock();
            let _first = take(first).unwrap();
            both.wait();
            let _second = take(second);
        })
    });
    are_waiting(&url, "a", 1);
    are_waiting(&url, "b", 1);
    let tree = document(&url, &["tree"], 3);
    assert_eq!(tree["chains"][0]["cycle"], true, "{tree}");
    let host = tree["chains"][0]["hops"][0]["holder"]["host"].as_str();
    let process = format!("{}:{}", host.unwrap(), std::process::id());
    for subject in ["a", "b", &process] {
        let said = written(&url, &["why", subject], 3);
        assert!(said.starts_with("CYCLE"), "{subject}: {said}");
    }
    client.blocking_shutdown();
    for task in tasks {
        task.join().unwrap();
    }
}
