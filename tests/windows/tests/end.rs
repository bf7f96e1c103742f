//! What ends a process, and what only Unix has.

use std::process::Command;

use auto_mutex::{Client, SetupError};
use auto_mutex_tests::stores::redis;

#[test]
fn the_end_of_main_releases_the_locks() {
    let store = redis();
    let ended = Command::new(env!("CARGO_BIN_EXE_end_of_main"))
        .arg(store.url())
        .status()
        .unwrap();
    assert!(ended.success());
    let client = Client::connect(store.url()).unwrap();
    let guard = client.mutex("m").blocking_try_lock().unwrap();
    assert!(guard.is_some(), "the lock stays held for a lease");
}

#[test]
fn what_only_unix_has_is_a_clear_error() {
    let error = auto_mutex::release_on_termination().unwrap_err();
    assert!(
        matches!(error, SetupError::BackgroundThread { .. })
            && error.to_string().contains("ctrl_c"),
        "{error}"
    );
    let error = Client::connect("unix:///tmp/redis.sock")
        .map(drop)
        .unwrap_err();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    assert!(text.contains("cannot open a socket file"), "{text}");
}
