//! Tests of the text for Prometheus and the event for the page. `tests/real/serve.rs` tests the routes.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex::operator::Operator;
use serde_json::Value;

use super::metrics;
use super::snapshot::Snapshot;

#[test]
fn no_name_is_in_a_label() {
    let url = "memory://serve-metrics";
    let client = Client::connect(url).unwrap();
    let _held: Vec<_> = (0..100)
        .map(|number| {
            client
                .mutex(format!("secret:{number}"))
                .blocking_lock()
                .unwrap()
        })
        .collect();
    let operator = Operator::connect(url).unwrap();
    let names: Vec<_> = operator.names("*").flat_map(Result::unwrap).collect();
    let locks = operator.inspect(&names).unwrap();
    let locks = locks.into_iter().map(Result::unwrap).collect();
    let snapshot = Snapshot::of(
        "here".to_owned(),
        locks,
        Vec::new(),
        Duration::from_millis(5),
        None,
        None,
    );
    let text = metrics::text(&snapshot, false);
    assert!(
        text.contains("auto_mutex_locks{kind=\"mutex\"} 100\n"),
        "{text}"
    );
    assert!(text.contains("auto_mutex_store_up 1\n"), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert!(text.lines().count() < 46, "{text}");
    assert!(snapshot.update.contains("\"count\":100"));
    let snapshot = Snapshot::of(
        "here".to_owned(),
        Vec::new(),
        Vec::new(),
        Duration::ZERO,
        None,
        Some("gone".to_owned()),
    );
    assert!(metrics::text(&snapshot, false).contains("auto_mutex_store_up 0\n"));
}

/// The event has the first 500 locks, and a search finds all others.
#[test]
fn a_search_finds_every_lock_by_name_and_process() {
    let url = "memory://serve-search";
    let client = Client::connect(url).unwrap();
    let names = (0..700).map(|number| format!("m:{number:03}"));
    let held = names.map(|name| client.mutex(name).blocking_lock().unwrap());
    let _held: Vec<_> = held.collect();
    let operator = Operator::connect(url).unwrap();
    let locks = crate::store::in_use(&operator, "*").unwrap();
    let snapshot = Snapshot::of(
        "here".to_owned(),
        locks,
        Vec::new(),
        Duration::ZERO,
        None,
        None,
    );
    let update: Value = serde_json::from_str(&snapshot.update).unwrap();
    let shown = update["locks"].as_array().unwrap();
    assert_eq!((shown.len(), &update["count"]), (500, &700.into()));
    let found = |text: &str| serde_json::to_value(snapshot.search(text)).unwrap();
    let left_out = |lock: &&String| !shown.iter().any(|row| row["name"] == **lock);
    let all: Vec<String> = (0..700).map(|number| format!("m:{number:03}")).collect();
    let left_out = all.iter().find(left_out).unwrap();
    let one = found(&left_out.to_uppercase());
    assert_eq!(
        (&one["count"], &one["locks"][0]["name"]),
        (&1.into(), &left_out.as_str().into())
    );
    let process = format!(":{}", std::process::id());
    assert!(
        one["locks"][0]["holder"]
            .as_str()
            .unwrap()
            .ends_with(&process),
        "{one}"
    );
    let by_process = found(&process);
    assert_eq!(by_process["count"], 700);
    assert_eq!(by_process["locks"].as_array().unwrap().len(), 500);
    assert_eq!(found("none")["count"], 0);
}

#[test]
fn the_seats_of_leaders_have_names() {
    let url = "memory://serve-seats";
    let client = Client::connect(url).unwrap();
    let operator = Operator::connect(url).unwrap();
    let text = || {
        let lock = operator.inspect(&[r#"a"\b"#]).unwrap().remove(0).unwrap();
        let (place, took) = ("here".to_owned(), Duration::ZERO);
        metrics::text(
            &Snapshot::of(place, vec![lock], Vec::new(), took, None, None),
            false,
        )
    };
    let leads = client.leader(r#"a"\b"#).blocking_lead(|term| {
        let (text, term) = (text(), term.number());
        for line in [
            r#"auto_mutex_seat_led{seat="a\"\\b"} 1"#.to_owned(),
            format!(r#"auto_mutex_seat_term{{seat="a\"\\b"}} {}"#, term as f64),
            r#"auto_mutex_seat_standbys{seat="a\"\\b"} 0"#.to_owned(),
            r#"auto_mutex_oldest_wait_seconds{kind="leader"} 0"#.to_owned(),
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        Ok::<_, auto_mutex::LockError>(())
    });
    leads.unwrap();
    assert!(!text().contains("seat="));
}
