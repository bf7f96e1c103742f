//! A long `block` without a unit may be milliseconds by mistake: the library warns of it once. The log is process-wide, so this
//! is a program of its own.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex_tests::log;

#[test]
fn a_number_above_an_hour_is_doubted_once_and_holds() {
    log::take_warnings();
    let client = Client::connect("memory://").expect("memory needs nothing");

    let hours = Duration::from_secs(7200);
    for handle in [
        client.mutex("a").block(3600),
        client.mutex("a").block(0.5),
        client.mutex("a").block("2h"),
        client.mutex("a").block(hours),
        client.mutex("a").block(Duration::MAX),
        client.mutex("a").expire(500_000),
    ] {
        drop(handle.blocking_lock().expect("free"));
    }
    assert_eq!(log::told(), "", "at most an hour, or with a unit");

    let doubtful = client.mutex("a").block(500_000);
    let told = log::told();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("WARN"), "{told}");
    assert!(
        told.contains("`block`: 500000 s is 6 days: did you mean \"500000ms\"?"),
        "{told}"
    );
    drop(doubtful.blocking_lock().expect("no error: it may be meant"));

    drop(client.semaphore("s", 2).block(7201.5));
    drop(client.rw_lock("r").block(u64::from(u32::MAX)));
    assert_eq!(log::told(), "", "told before");
}
