//! Each fault of a set-up by sentinels has its own error, and no error shows a password.

use std::thread;
use std::time::Duration;

use auto_mutex::{Client, SetupError};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::finishes;
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::sentinel::{Service, ServiceOptions};

use crate::rig::config;

#[track_caller]
fn refused(url: &str) -> SetupError {
    refused_within(url, 8.0)
}

/// Like `refused`, for faults that are reported only after the connect timeout.
#[track_caller]
fn refused_within(url: &str, seconds: f64) -> SetupError {
    let config = config(url).connect_timeout(Duration::from_secs_f64(seconds));
    let error = match Client::connect(config) {
        Ok(_) => panic!("{url} works"),
        Err(error) => error,
    };
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    error
}

#[test]
fn every_fault_has_an_error_of_its_own() {
    let _watch = real_time();
    let options = ServiceOptions::default().server_password("right");
    let service = Service::with(options.sentinel_password("watch"));
    let url = service.url();
    let error = refused(&url.replace("/the-service", "/another"));
    assert!(
        matches!(&error, SetupError::UnknownService { service, .. } if service == "another"),
        "{error:?}"
    );
    let of_sentinel = |address: &str| {
        let mut sentinels = service.sentinels().iter();
        sentinels.any(|sentinel| address.ends_with(&sentinel.port().to_string()))
    };
    for wrong in [
        "sentinel_pass=hunter2",
        "sentinel_user=x&sentinel_pass=hunter2",
        "",
    ] {
        let error = refused(&url.replace("sentinel_pass=watch", wrong));
        assert!(
            matches!(&error, SetupError::Authentication { address, .. } if of_sentinel(address)),
            "{error:?}"
        );
    }
    let error = refused(&url.replace(":right@", ":hunter2@"));
    let port = service.port(0).to_string();
    assert!(
        matches!(&error, SetupError::Authentication { address, .. } if address.ends_with(&port)),
        "{error:?}"
    );
    // The sentinels do not replace the killed server.
    service.server(0).kill9();
    let error = refused(&url);
    assert!(
        matches!(&error, SetupError::NoPrimary { service, .. } if service == "the-service"),
        "{error:?}"
    );
    for sentinel in service.sentinels() {
        sentinel.kill9();
    }
    let error = refused(&url);
    assert!(matches!(&error, SetupError::NoSentinel { .. }), "{error:?}");
}

#[test]
fn a_server_is_no_sentinel() {
    let redis = Redis::start();
    let error = refused(&format!("redis-sentinel://127.0.0.1:{}/s", redis.port()));
    let text = chain(&error);
    assert!(matches!(error, SetupError::NoSentinel { .. }), "{text}");
    assert!(text.contains("not a sentinel"), "{text}");
}

#[test]
fn sentinels_that_answer_nothing_are_waited_for_as_long_as_was_said() {
    let service = Service::start();
    for sentinel in service.sentinels() {
        sentinel.stop();
    }
    let error = refused_within(&service.url(), 1.5);
    assert!(matches!(error, SetupError::NoSentinel { .. }), "{error:?}");
    // One sentinel that answers in time is enough.
    let url = service.url();
    let connecting =
        thread::spawn(move || Client::connect(config(&url).connect_timeout("60s")).map(drop));
    service.sentinel(1).cont();
    finishes("connected", || connecting.join().unwrap()).unwrap();
    for sentinel in service.sentinels() {
        sentinel.cont();
    }
}
