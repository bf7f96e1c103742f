//! The library warns once about a long `block` without a unit, which may be milliseconds by mistake. The log is
//! process-wide, so this is a separate program.

use std::time::Duration;

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::log;

#[auto_mutex(name = "a", block = seconds)]
fn number(seconds: u64) -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "a", block = seconds)]
fn float(seconds: f64) -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "a", block = time)]
fn text(time: &str) -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "a", block = time)]
fn duration(time: Duration) -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex(name = "a", expire = seconds)]
fn expire(seconds: u64) -> Result<(), LockError> {
    Ok(())
}

#[test]
fn a_number_above_an_hour_is_doubted_once_and_holds() {
    log::take_warnings();
    let client = Client::connect("memory://").expect("memory needs nothing");
    client
        .blocking_scope(|| {
            number(3600)?;
            float(0.5)?;
            text("2h")?;
            duration(Duration::from_secs(7200))?;
            duration(Duration::MAX)?;
            expire(500_000)
        })
        .expect("free");
    assert_eq!(log::told(), "", "at most an hour, or with a unit");

    let doubtful = client.blocking_scope(|| number(500_000));
    let told = log::told();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("WARN"), "{told}");
    assert!(
        told.contains("`block`: 500000 s is 6 days: did you mean \"500000ms\"?"),
        "{told}"
    );
    doubtful.expect("no error: it may be intended");

    client
        .blocking_scope(|| float(7201.5).and_then(|()| number(1_000_000_000)))
        .expect("free");
    assert_eq!(log::told(), "", "told before");
}
