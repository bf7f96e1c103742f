//! Tests of the text for Prometheus and the event for the page. `tests/real/serve.rs` tests the routes.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex::operator::Operator;

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
    );
    let text = metrics::text(&snapshot);
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
        Some("gone".to_owned()),
    );
    assert!(metrics::text(&snapshot).contains("auto_mutex_store_up 0\n"));
}

#[test]
fn the_seats_of_leaders_have_names() {
    let url = "memory://serve-seats";
    let client = Client::connect(url).unwrap();
    let operator = Operator::connect(url).unwrap();
    let text = || {
        let lock = operator.inspect(&[r#"a"\b"#]).unwrap().remove(0).unwrap();
        let (place, took) = ("here".to_owned(), Duration::ZERO);
        metrics::text(&Snapshot::of(place, vec![lock], Vec::new(), took, None))
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
