//! The options of a configuration, one by one.

use std::time::Duration;

use super::*;
use crate::store::{
    Layout, MemberId, Parsed, Reader, Scheme, StoreOptions, Unconnected, same_kind,
};

/// The engine of `memory://` is in a crate above this one. No test here opens a store.
#[derive(Debug)]
struct Nowhere(String);

impl Engine for Nowhere {
    fn scheme(&self) -> &'static str {
        "memory"
    }

    fn layout(&self) -> Layout {
        Layout::InProcess
    }

    fn servers(&self) -> String {
        "memory://".to_owned()
    }

    fn is_same_store(&self, other: &dyn Engine) -> bool {
        same_kind(other).is_some_and(|Self(name)| *name == self.0)
    }

    fn unconnected(&self, _: &StoreOptions, _: MemberId) -> Unconnected {
        unreachable!()
    }

    fn reader(&self, _: &StoreOptions) -> Box<dyn Reader> {
        unreachable!()
    }
}

fn parse(_: &str, name: &str) -> Parsed {
    Ok(Arc::new(Nowhere(name.to_owned())))
}

inventory::submit! {
    Scheme { names: &["memory"], parse, of_several: None }
}

fn memory() -> Config {
    Config::new("memory://").unwrap()
}

#[test]
fn the_defaults() {
    let settings = memory().validate().unwrap();
    assert_eq!(settings.namespace, None);
    assert_eq!(settings.lease(), Duration::from_secs(10));
    assert_eq!(settings.expire, Some(Duration::from_secs(86_400)));
    assert_eq!(settings.block, None);
    assert_eq!(settings.slow, Some(Duration::from_secs(30)));
    assert_eq!(settings.store_timeout(), settings.lease());
    assert_eq!(settings.options.connect_timeout, Duration::from_secs(5));
    assert_eq!(settings.options.longest_lease, Duration::from_secs(30));
}

#[test]
fn who_holds_nothing_waits_for_answers_as_for_a_connection() {
    let waits = |config: Config| {
        let settings = config.connect_timeout("7s").validate().unwrap();
        settings.without_holds().store_timeout()
    };
    assert_eq!(waits(memory()), Duration::from_secs(7));
    assert_eq!(waits(memory().store_timeout("1s")), Duration::from_secs(1));
}

#[test]
fn no_lease_is_longer_than_the_longest() {
    let settings = |config: Config| config.validate().unwrap();
    assert_eq!(
        settings(memory().longest_lease("2s")).lease(),
        Duration::from_secs(2)
    );
    let both = settings(memory().longest_lease("2s").lease("2s"));
    assert_eq!(both.lease(), both.options.longest_lease);
}

#[test]
fn what_is_given_is_kept() {
    let settings = memory()
        .namespace("prod")
        .lease("100ms")
        .expire("100000s")
        .block("0s")
        .slow("0s")
        .store_timeout(Duration::from_millis(1))
        .connect_timeout("1s")
        .validate()
        .unwrap();
    assert_eq!(settings.namespace.as_deref(), Some("prod"));
    assert_eq!(settings.lease(), Duration::from_millis(100));
    assert_eq!(settings.expire, Some(Duration::from_secs(100_000)));
    assert_eq!(settings.block, Some(Duration::ZERO));
    assert_eq!(settings.slow, None);
    assert_eq!(settings.store_timeout(), Duration::from_millis(1));
    assert_eq!(settings.options.connect_timeout, Duration::from_secs(1));
    assert_eq!(
        memory().lease("2s").validate().unwrap().store_timeout(),
        Duration::from_secs(2)
    );
    assert_eq!(
        memory()
            .expire("1s")
            .never_expire()
            .validate()
            .unwrap()
            .expire,
        None
    );
    let settings = memory().never_expire().expire("1s").validate().unwrap();
    assert_eq!(settings.expire, Some(Duration::from_secs(1)));
}

#[test]
fn values_that_cannot_work_are_reported_by_validate() {
    let table = [
        ("lease", memory().lease("0s")),
        ("lease", memory().lease("99ms")),
        ("lease", memory().lease("30001ms")),
        ("lease", memory().lease("-1s")),
        ("lease", memory().lease("NaN s")),
        ("lease", memory().lease("2s").longest_lease("1900ms")),
        ("longest_lease", memory().longest_lease("30001ms")),
        ("longest_lease", memory().longest_lease("99ms")),
        ("expire", memory().expire("0s")),
        ("expire", memory().expire("0.0001s")),
        ("expire", memory().expire("-0.5s")),
        ("expire", memory().expire("inf s")),
        ("expire", memory().expire(Duration::MAX)),
        ("block", memory().block("-1s")),
        ("block", memory().block(Duration::MAX)),
        ("block", memory().block("10")),
        ("expire", memory().expire("5 weeks")),
        ("slow", memory().slow("-1s")),
        ("slow", memory().slow("0.1ms")),
        ("store_timeout", memory().store_timeout("0s")),
        ("connect_timeout", memory().connect_timeout("0s")),
        ("namespace", memory().namespace("")),
        ("namespace", memory().namespace("n".repeat(257))),
    ];
    for (expected, config) in table {
        match config.clone().validate() {
            Err(SetupError::InvalidOption { option, .. }) => assert_eq!(option, expected),
            other => panic!("{config:?}: {other:?}"),
        }
    }
}

/// A text is parsed where it is given. A later value does not hide the error.
#[test]
fn the_first_error_is_kept() {
    let config = memory().lease("soon").expire("0s").lease("2s");
    match config.validate() {
        Err(SetupError::InvalidOption { option, .. }) => assert_eq!(option, "lease"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_url_converts_in_every_form() {
    fn accepted(config: impl TryInto<Config, Error: Into<SetupError>>) {
        assert!(config.try_into().map_err(Into::into).is_ok());
    }
    let url = String::from("memory://");
    accepted("memory://");
    accepted(&url);
    accepted(url);
    accepted(memory());
    assert!("memory://".parse::<Config>().is_ok());
    assert!("no URL".parse::<Config>().is_err());
}

#[test]
fn a_configuration_may_cross_a_caught_panic_with_a_callbacks_too() {
    fn crosses<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe + Send + Sync>() {}
    crosses::<Config>();
}

/// Tests of users take the same path as production.
#[test]
fn a_lock_is_kept_between_calls_only_if_somebody_says_so() {
    for url in ["memory://", "memory://shared"] {
        assert_eq!(Config::new(url).unwrap().settings.retain, None, "{url}");
    }
}
