//! Tests of the text and the sources of every variant of the errors.

use std::error::Error;
use std::time::{Duration, SystemTime};

use super::*;
use crate::store::RW_LOCK;
use auto_mutex_protocol::StoreErrorKind;

const NAME: &str = "ns:the-lock";
const SERVER: &str = "10.0.0.1:6379";

fn source() -> StoreError {
    StoreError::of_server(StoreErrorKind::Refused, "OOM", "command not allowed")
}

fn holder() -> Holder {
    Holder {
        host: "a-host".to_owned(),
        pod: Some("a-pod".to_owned()),
        pid: 17,
        site: "jobs::run at src/jobs.rs:12".to_owned(),
        since: SystemTime::UNIX_EPOCH,
        owner: Some("the-owner".to_owned()),
        kind: Some(HoldKind::Mutex),
        units: Some(1),
        permits: None,
        holds: Vec::new(),
    }
}

/// Returns one error of each variant.
fn lock_errors() -> Vec<LockError> {
    let name = || NAME.to_owned();
    let holder = || Some(Box::new(holder()));
    let all = vec![
        LockError::Timeout {
            name: name(),
            waited: Duration::from_secs(1),
            holder: holder(),
        },
        LockError::Lost {
            name: name(),
            held: Duration::from_secs(1),
            cause: LossCause::NotRenewed,
        },
        LockError::AlreadyHeld { name: name() },
        LockError::waits_for_itself(&name()),
        LockError::TooManyAttempts {
            name: name(),
            attempts: 3,
            holder: holder(),
        },
        LockError::NotReplicated {
            name: name(),
            wanted: 2,
            reached: 1,
        },
        LockError::Unavailable {
            name: name(),
            server: SERVER.to_owned(),
            source: source(),
        },
        LockError::PermitsMismatch {
            name: name(),
            expected: 1,
            found: 5,
        },
        LockError::WrongKind {
            name: name(),
            expected: LockKind::Mutex,
            found: LockKind::RwLock,
        },
        LockError::InUse {
            name: name(),
            holders: 1,
            waiters: 2,
        },
        LockError::ForeignKey { name: name() },
        LockError::Unsupported {
            name: name(),
            what: "tokens".to_owned(),
            store: "redlock",
        },
        LockError::NotSetUp,
        LockError::Forked,
        LockError::ShutDown,
        LockError::InvalidName {
            name: name(),
            reason: "it is empty",
        },
        LockError::InvalidOption {
            option: "expire",
            reason: "shorter than 10 ms",
        },
        LockError::NotProtected,
        LockError::Busy {
            name: name(),
            waiting: 100,
        },
    ];
    let numbers: Vec<_> = all.iter().map(number).collect();
    assert_eq!(numbers, (0..19).collect::<Vec<_>>(), "one of each");
    all
}

/// Returns the number of a variant. A new variant fails to compile here, as a reminder to add it above.
fn number(error: &LockError) -> usize {
    match error {
        LockError::Timeout { .. } => 0,
        LockError::Lost { .. } => 1,
        LockError::AlreadyHeld { .. } => 2,
        LockError::Deadlock { .. } => 3,
        LockError::TooManyAttempts { .. } => 4,
        LockError::NotReplicated { .. } => 5,
        LockError::Unavailable { .. } => 6,
        LockError::PermitsMismatch { .. } => 7,
        LockError::WrongKind { .. } => 8,
        LockError::InUse { .. } => 9,
        LockError::ForeignKey { .. } => 10,
        LockError::Unsupported { .. } => 11,
        LockError::NotSetUp => 12,
        LockError::Forked => 13,
        LockError::ShutDown => 14,
        LockError::InvalidName { .. } => 15,
        LockError::InvalidOption { .. } => 16,
        LockError::NotProtected => 17,
        LockError::Busy { .. } => 18,
    }
}

#[test]
fn each_error_has_a_row_in_the_table_of_the_test_kit() {
    let table = include_str!("../../../../../testkit/src/table.md");
    for error in lock_errors() {
        let shown = format!("{error:?}");
        let variant = shown.split(' ').next().unwrap();
        let row = format!("| [`{variant}`](auto_mutex_core::LockError::{variant}) |");
        assert!(table.contains(&row), "{variant}");
    }
}

/// Returns one error of each variant with a source. The match fails to compile unless it has every variant.
fn setup_errors() -> Vec<SetupError> {
    let address = || SERVER.to_owned();
    let service = || "the-service".to_owned();
    let all = vec![
        SetupError::Unreachable {
            address: address(),
            source: source(),
        },
        SetupError::Tls {
            address: address(),
            source: TlsError::NotTls,
        },
        SetupError::Authentication {
            address: address(),
            source: source(),
        },
        SetupError::Credentials {
            address: address(),
            source: source(),
        },
        SetupError::Permission {
            address: address(),
            source: source(),
        },
        SetupError::Unsuitable {
            address: address(),
            reason: "it speaks RESP2 only".into(),
            source: source(),
        },
        SetupError::NoSentinel {
            address: address(),
            source: source(),
        },
        SetupError::NoPrimary {
            service: service(),
            source: source(),
        },
    ];
    for error in &all {
        match error {
            SetupError::Unreachable { .. }
            | SetupError::Tls { .. }
            | SetupError::Authentication { .. }
            | SetupError::Credentials { .. }
            | SetupError::Permission { .. }
            | SetupError::Unsuitable { .. }
            | SetupError::NoSentinel { .. }
            | SetupError::NoPrimary { .. } => {}
            // None of these variants has a source.
            SetupError::InvalidUrl { .. }
            | SetupError::UnsupportedStore { .. }
            | SetupError::InvalidOption { .. }
            | SetupError::Environment { .. }
            | SetupError::AlreadySetUp
            | SetupError::UnsupportedServer { .. }
            | SetupError::NotPrimary { .. }
            | SetupError::UnknownService { .. }
            | SetupError::BackgroundThread { .. } => unreachable!("without a source"),
        }
    }
    all
}

/// Returns how many sources `error` has. Checks that no error repeats the text of its source.
#[track_caller]
fn sources(error: &dyn Error) -> usize {
    let mut count = 0;
    let mut level = error;
    while let Some(source) = level.source() {
        let (outer, inner) = (level.to_string(), source.to_string());
        assert!(!outer.contains(&inner), "{outer:?} repeats {inner:?}");
        (count, level) = (count + 1, source);
    }
    count
}

#[test]
fn nothing_is_said_twice_in_a_chain_of_sources() {
    for error in lock_errors() {
        let expected = usize::from(matches!(error, LockError::Unavailable { .. }));
        assert_eq!(sources(&error), expected, "{error:?}");
    }
    for error in setup_errors() {
        assert_eq!(sources(&error), 1, "{error:?}");
    }
}

#[test]
fn the_message_for_strangers_has_nothing_of_the_details() {
    let details = [
        NAME,
        SERVER,
        "a-host",
        "a-pod",
        "17",
        "jobs::run",
        "src/",
        "OOM",
        "://",
        "the-owner",
    ];
    for error in lock_errors() {
        let message = error.public_message();
        assert!(!message.is_empty(), "{error:?}");
        for detail in details {
            assert!(!message.contains(detail), "{error:?}: {message}");
        }
        let helps = message.contains("again later");
        let may_help = error.is_transient() || matches!(error, LockError::ShutDown);
        assert_eq!(helps, may_help, "{error:?}: {message}");
    }
}

#[test]
fn only_errors_that_end_by_themselves_are_transient() {
    let transient: Vec<_> = lock_errors()
        .iter()
        .filter(|error| error.is_transient())
        .map(number)
        .collect();
    assert_eq!(transient, [0, 4, 5, 6, 9, 18]);
    for (kind, expected) in [
        (StoreErrorKind::Disconnected, true),
        (StoreErrorKind::Busy, true),
        (StoreErrorKind::NotGrantingYet, true),
        (StoreErrorKind::TooLate, true),
        (StoreErrorKind::Refused, true),
        (StoreErrorKind::Forbidden, false),
        (StoreErrorKind::Protocol, false),
    ] {
        let error = LockError::Unavailable {
            name: NAME.to_owned(),
            server: SERVER.to_owned(),
            source: source().as_kind(kind),
        };
        assert_eq!(error.is_transient(), expected, "{kind:?}");
    }
    let transient: Vec<_> = setup_errors()
        .iter()
        .map(SetupError::is_transient)
        .collect();
    let expected = [true, false, false, true, false, false, true, true];
    assert_eq!(transient, expected);
}

#[test]
fn the_errors_for_tests_are_those_that_they_are_named_after() {
    let made = [
        (LockError::timeout(NAME), 0),
        (LockError::lost(NAME, LossCause::Expired), 1),
        (LockError::already_held(NAME), 2),
        (LockError::deadlock(NAME), 3),
        (LockError::too_many_attempts(NAME), 4),
        (LockError::not_replicated(NAME), 5),
        (LockError::unavailable(NAME), 6),
        (LockError::in_use(NAME), 9),
        (LockError::foreign_key(NAME), 10),
        (LockError::busy(NAME), 18),
    ];
    for (error, expected) in made {
        assert_eq!(number(&error), expected, "{error:?}");
        assert_eq!(error.name(), Some(NAME));
    }
}

#[test]
fn every_error_about_a_lock_names_it() {
    for error in lock_errors() {
        let text = error.to_string();
        let is_about_none = matches!(
            error,
            LockError::NotSetUp
                | LockError::NotProtected
                | LockError::Forked
                | LockError::ShutDown
                | LockError::InvalidOption { .. }
        );
        let name = (!is_about_none).then_some(NAME);
        assert_eq!(error.name(), name, "{error:?}");
        assert_eq!(text.contains(NAME), !is_about_none, "{text}");
    }
    let unavailable = &lock_errors()[6];
    assert!(unavailable.to_string().contains(SERVER), "{unavailable}");
}

#[test]
fn another_kind_of_lock_is_not_another_number_of_permits() {
    let lock = |(capacity, takes): (u32, bool)| (LockKind::of(capacity, takes), capacity);
    let told = |expected, found| LockError::mismatch(NAME.to_owned(), lock(expected), lock(found));
    let (mutex, rw_lock) = ((1, false), (RW_LOCK, false));
    for (expected, found) in [
        ((5, true), (3, true)),
        ((5, true), (1, true)),
        ((1, true), (5, false)),
    ] {
        let error = told(expected, found);
        assert!(
            matches!(error, LockError::PermitsMismatch { expected: e, found: f, .. } if (e, f) == (expected.0, found.0)),
            "{error:?}"
        );
    }
    for (expected, found, text) in [
        (
            mutex,
            (5, true),
            "in use as a semaphore, but this call needs a mutex",
        ),
        (
            (5, true),
            mutex,
            "in use as a mutex, but this call needs a semaphore",
        ),
        (
            rw_lock,
            mutex,
            "in use as a mutex, but this call needs a readers-writer lock",
        ),
    ] {
        let error = told(expected, found);
        assert!(matches!(error, LockError::WrongKind { .. }), "{error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
}
