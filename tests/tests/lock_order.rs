//! Warnings about locks taken in opposite orders: one per cycle, before any call hangs. The log is process-wide, so
//! this is a separate program. (The core has the tests of what is no contradiction.)

use auto_mutex::Client;
use auto_mutex_tests::log;

const TARGET: &str = "auto_mutex::order";

/// The warnings that name this label.
fn warnings(label: &str) -> Vec<String> {
    let label = format!("`{label}`");
    let log = log::so_far();
    let lines = log.lines().filter(|line| line.contains(TARGET));
    lines
        .filter(|line| line.contains(&label))
        .map(str::to_owned)
        .collect()
}

fn client() -> Client {
    Client::connect("memory://").expect("a client")
}

fn nest(client: &Client, outer: &'static str, inner: &'static str) {
    let [outer, inner] = [outer, inner].map(|label| client.mutex(label).metrics_label(label));
    let nested = outer.blocking_synchronize(|_| inner.blocking_synchronize(|_| ()));
    nested.expect("the outer lock").expect("the inner lock");
}

#[test]
fn a_cycle_is_warned_about_once_with_all_its_places() {
    log::take_warnings();
    let client = client();
    nest(&client, "one:a", "one:b");
    assert!(warnings("one:a").is_empty());
    nest(&client, "one:b", "one:a");
    let warned = warnings("one:a");
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("WARN"), "{warned:?}");
    let places = warned[0].matches(&format!("({}:", file!())).count();
    assert_eq!(places, 4, "{warned:?}");
    nest(&client, "one:a", "one:b");
    nest(&client, "one:b", "one:a");
    assert_eq!(warnings("one:a").len(), 1, "{}", log::so_far());
    // Another cycle is another warning.
    nest(&client, "one:b", "one:c");
    nest(&client, "one:c", "one:a");
    assert_eq!(warnings("one:c").len(), 1);
    assert_eq!(warnings("one:a").len(), 2);
}
