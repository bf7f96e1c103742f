//! Warnings about locks taken in opposite orders: one per cycle, before any call hangs. The log is process-wide, so
//! this is a separate program. Each test uses different labels.

use std::sync::Once;

use auto_mutex::{Client, Config};
use auto_mutex_tests::log;

const TARGET: &str = "auto_mutex::order";

fn listen() {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(log::take_warnings);
}

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
    listen();
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

#[test]
fn another_key_of_the_same_label_is_warned_about() {
    listen();
    let client = client();
    let keys = ["1", "2"].map(|key| client.mutex(key).metrics_label("key"));
    let both = keys[0].blocking_synchronize(|_| keys[1].blocking_lock().map(drop));
    both.unwrap().unwrap();
    let warned = warnings("key");
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        warned[0].contains("take them together with `keys = [..]`"),
        "{warned:?}"
    );
}

#[test]
fn an_order_that_is_meant_is_not_warned_about() {
    listen();
    let config = Config::new("memory://").expect("a good URL");
    let client = Client::connect(config.allow_order("meant:b", "meant:a")).expect("a client");
    nest(&client, "meant:a", "meant:b");
    nest(&client, "meant:b", "meant:a");
    assert!(warnings("meant:a").is_empty(), "{}", log::so_far());
    nest(&client, "meant:b", "meant:c");
    nest(&client, "meant:c", "meant:b");
    assert_eq!(warnings("meant:c").len(), 1);
}
